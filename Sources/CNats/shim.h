#pragma once
#if __has_include(<nats/nats.h>)
#include <nats/nats.h>
#else
#error "the trait NATS expects the C library libnats: apt-get install libnats-dev, or brew install cnats"
#endif
