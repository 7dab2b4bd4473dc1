import { dlopen, ptr } from 'bun:ffi'

// asm-generic/socket.h, the same on x64 and arm64.
const [SOL_SOCKET, SO_REUSEPORT, SO_ACCEPTCONN, SO_ATTACH_REUSEPORT_CBPF] = [1, 15, 30, 51]
/** linux/bpf_common.h: end with a constant. */
const BPF_RET_K = 0x06

/** More open files than are there before the first that listens. */
const mostDescriptors = 65_536

/** Those that listen on one shared port (SO_REUSEPORT): the newest takes all new connections. */
export class SharedPort<Server> {
  /** In the order of the kernel's own list. */
  readonly #servers: Server[]
  newest: Server

  constructor(
    private readonly port: number,
    first: Server,
  ) {
    this.newest = first
    this.#servers = [first]
  }

  get all(): readonly Server[] {
    return this.#servers
  }

  /** Adds one that has begun to listen. Tells whether it takes all new connections, and not by turns with those before it. */
  add(server: Server): boolean {
    this.#servers.push(server)
    this.newest = server
    return this.#steer()
  }

  /** @param close has it listen no more */
  remove(server: Server, close: () => void): void {
    // The kernel fills the gap with the last of its list.
    const last = this.#servers.pop() as Server
    if (last !== server) this.#servers[this.#servers.indexOf(server)] = last
    close()
    this.#steer()
  }

  #steer(): boolean {
    return takeNewConnections(this.port, this.#servers.indexOf(this.newest))
  }
}

/**
 * Has the kernel hand all new connections of a port that is shared (SO_REUSEPORT) to one of those that listen on it, by the
 * order in which they came to it: by itself it would hand them to all by turns, and would reset those that wait for one that is
 * closed (socket(7), SO_ATTACH_REUSEPORT_CBPF). False where that cannot be had.
 */
function takeNewConnections(port: number, place: number): boolean {
  const libc = openLibc()
  if (!libc) return false
  const instruction = new DataView(new ArrayBuffer(8))
  instruction.setUint16(0, BPF_RET_K, true)
  instruction.setUint32(4, place, true)
  // struct sock_fprog: how many instructions, and where they are.
  const program = new DataView(new ArrayBuffer(16))
  program.setUint16(0, 1, true)
  program.setBigUint64(8, BigInt(ptr(instruction)), true)
  const { getsockopt, getsockname, setsockopt } = libc.symbols
  const [value, length, name] = [new Int32Array(1), new Uint32Array(1), new DataView(new ArrayBuffer(28))]
  const isOn = (descriptor: number, option: number) => {
    length[0] = 4
    return getsockopt(descriptor, SOL_SOCKET, option, ptr(value), ptr(length)) === 0 && value[0] === 1
  }
  const portOf = (descriptor: number) => {
    length[0] = name.byteLength
    // In the same place of sockaddr_in and sockaddr_in6.
    return getsockname(descriptor, ptr(name), ptr(length)) === 0 ? name.getUint16(2) : null
  }
  for (let descriptor = 3; descriptor < mostDescriptors; descriptor++) {
    if (!isOn(descriptor, SO_ACCEPTCONN) || !isOn(descriptor, SO_REUSEPORT)) continue
    // To one of them is to all of them.
    if (portOf(descriptor) !== port) continue
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), 16) === 0
  }
  return false
}

function openLibc() {
  try {
    return dlopen('libc.so.6', {
      getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
      getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
      setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    })
  } catch {
    return null
  }
}
