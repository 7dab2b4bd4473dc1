import { expect, test } from 'bun:test'
import { SharedPort } from '../../src/http/newest-listener'

const opened = (port: number, name: string) =>
  Bun.serve({ hostname: '127.0.0.1', port, reusePort: true, fetch: () => new Response(name) })

/** Who answers those that connect anew. */
async function answering(port: number): Promise<Set<string>> {
  const asked = Array.from({ length: 20 }, () =>
    fetch(`http://127.0.0.1:${port}`, { keepalive: false }).then((answer) => answer.text()),
  )
  return new Set(await Promise.all(asked))
}

// Elsewhere the kernel has no word for it, and the one before is closed at once.
test.skipIf(process.platform !== 'linux')(
  'of those that share a port the newest alone is connected to, whichever of the others goes',
  async () => {
    const first = opened(0, 'first')
    const port = first.port as number
    const shared = new SharedPort(port, first)
    const second = opened(port, 'second')
    expect(shared.add(second)).toBe(true)
    expect(await answering(port)).toEqual(new Set(['second']))
    const third = opened(port, 'third')
    expect(shared.add(third)).toBe(true)
    shared.remove(first, () => void first.stop(true))
    // The last of the kernel's list has taken its place.
    expect(shared.all).toEqual([third, second])
    expect(await answering(port)).toEqual(new Set(['third']))
    shared.remove(second, () => void second.stop(true))
    expect(await answering(port)).toEqual(new Set(['third']))
    await third.stop(true)
  },
)
