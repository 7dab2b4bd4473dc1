/**
 * Whom a budget for an address is kept for: an IPv4 address, which may be written as IPv6 writes it (RFC 4291
 * §2.5.5.2), or the /64 of an IPv6 address, which one network has whole (RFC 6177).
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!isMapped)
    return `${groups
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(':')}::/64`
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

/** The eight groups of 16 bits of an IPv6 address, its zone left out. */
function groupsOf(address: string): number[] {
  const [text = ''] = address.split('%')
  const [head = [], tail] = text.split('::').map((part) => part.split(':').filter(Boolean).flatMap(groupsIn))
  if (!tail) return head
  const zeros = Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0)
  return [...head, ...zeros, ...tail]
}

/** A group in hexadecimal, or the last two as IPv4 writes them. */
function groupsIn(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}
