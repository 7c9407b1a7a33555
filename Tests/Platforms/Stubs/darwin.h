// The functions of Darwin's headers that CEventingInspection uses, and that Linux does not have.
#include <sys/types.h>
int getpeereid(int socket, uid_t *user, gid_t *group);
int issetugid(void);
