import { randomInt } from 'node:crypto'

/** A random loopback address (RFC 5735: all of 127/8), so that no other process uses it. */
export const linkHost = `127.${randomInt(64, 250)}.${randomInt(256)}.${1 + randomInt(250)}`

const rules = ['-d', '-s'].map((side) => ['INPUT', '-i', 'lo', side, linkHost, '-j', 'DROP'])

function change(how: '-I' | '-D'): string | null {
  for (const rule of rules) {
    const { exitCode, stderr } = Bun.spawnSync(['iptables', '-w', how, ...rule], { stderr: 'pipe' })
    if (exitCode !== 0) return `${stderr}`.trim()
  }
  return null
}

/** Drops all packets from and to `linkHost`. Disposing restores the link. */
export function cutLink(): Disposable {
  const why = change('-I')
  if (why !== null) throw new Error(`the link could not be cut: ${why}`)
  return { [Symbol.dispose]: () => void change('-D') }
}

/** Returns why no link can be cut on this machine, or null if it can. */
export function whyNoCut(): string | null {
  try {
    const why = change('-I')
    if (why === null) change('-D')
    return why
  } catch {
    return 'there is no iptables'
  }
}
