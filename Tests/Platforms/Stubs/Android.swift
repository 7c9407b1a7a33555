// What Bionic declares otherwise than Glibc does.
@_exported public import Glibc

public let SOCK_STREAM: Int32 = 1
