import { encodings, search, settled } from './asks'
import { attempt, median, type Row, type RowSpec, toText } from './row'
import { Serving } from './service'

const providers = 10_000
const pages = providers / 20
const [readings, pauseMillis] = [5, 500]

/** The memory of a filled service minus the memory of an empty service. */
export async function benchMemory(): Promise<Row[]> {
  await using empty = await Serving.start(0)
  await using filled = await Serving.start(providers)
  const beyond = async (spec: RowSpec): Promise<Row> => {
    const [without, whole] = [await residentMegabytes(empty), await residentMegabytes(filled)]
    const figure = `${toText(((whole - without) / providers) * 1_000)} MB`
    return { ...spec, figure, reference: `${toText(without)} MB (an empty service)` }
  }
  return [
    await attempt({ name: 'memory of 1,000 providers after the load', goal: '<= 4 MB' }, beyond),
    await attempt({ name: 'memory of 1,000 providers with full caches', goal: '<= 22 MB' }, async (spec) => {
      for (const encoding of encodings) {
        for (let page = 1; page <= pages; page++)
          await settled(filled.baseUrl, search(filled, page, encoding))
      }
      return beyond(spec)
    }),
  ]
}

/** The resident memory of an idle service, in MB (median). */
async function residentMegabytes({ pid }: Serving): Promise<number> {
  const read: number[] = []
  for (let reading = 0; reading < readings; reading++) {
    await Bun.sleep(pauseMillis)
    const status = await Bun.file(`/proc/${pid}/status`).text()
    read.push((Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6)
  }
  return median(read)
}
