import { forged, lookUp, regionList, tokenless } from './asks'
import { attempt, type Row } from './row'
import { Serving } from './service'
import { compareWithBare } from './wrk'

const member = 'member-1001'

/** Compares small responses with a bare server that sends the same bytes. */
export async function benchSmall(): Promise<Row[]> {
  await using serving = await Serving.start(60)
  await serving.addMember(member)
  const rows: Row[] = []
  for (const [name, goal, ask] of [
    ['region list', '>= 0.50', regionList(serving)],
    ['401 for a forged signature', '>= 0.48', forged(serving)],
    ['401 without a token', '>= 0.48', tokenless()],
    ['user look-up', '>= 0.22', lookUp(serving, member)],
  ] as const) {
    rows.push(await attempt({ name, goal }, (spec) => compareWithBare(spec, serving, ask)))
  }
  return rows
}
