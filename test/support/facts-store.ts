import type { Act } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { Facts, Store } from '../../src/domain/ports/store'
import type { Write } from '../../src/domain/ports/writes'

type Given = { readonly [Noun in keyof Facts]?: Partial<Facts[Noun]> }

export function factsStore(
  given: Given,
): Store & { readonly written: [act: Act | null, writes: readonly Write[]][] } {
  const facts = given as Facts
  const written: [Act | null, readonly Write[]][] = []
  return {
    written,
    read: async (work) => work(facts),
    async change(act, ask, decide) {
      const decision = decide(...((await Promise.all(ask(facts))) as Parameters<typeof decide>))
      if (decision instanceof Refusal) throw decision
      written.push([act, decision.writes])
      return decision.answer([])
    },
    submit: () => Promise.reject(new Error('not given')),
    appendAudit: () => Promise.reject(new Error('not given')),
    noteKeyUses: () => Promise.reject(new Error('not given')),
  }
}
