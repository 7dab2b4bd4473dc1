import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../../domain/errors'
import type { ReportProgress } from '../../domain/measures'
import { elapsedMillis } from '../../domain/ports/time'
import { presentRegion } from '../../http/endpoints/provider-regions'
import { presentFound } from '../../http/endpoints/providers'
import type { Context } from '../../operations/context'
import {
  type DrillQuestions,
  mintDrillToken,
  providersShown,
  questionsFor,
  regionsShown,
} from '../../operations/database-copy'
import { backUp, noteAct } from '../../operations/maintenance'
import type { Service } from '../../service'
import type { Call } from '../command'
import type { MakeAct } from '../storage'
import { inPrivateFolder } from '../terminal/files'
import type { Answer } from '../terminal/output'
import { withProgress } from '../terminal/progress'
import { endCleanly } from './serve'

/** Restores and serves a new backup, then compares the answers of this copy with the answers of the service. */
export async function drill({ context: service, act }: Call<Service>): Promise<Answer> {
  endCleanly()
  try {
    const result = await withProgress(({ progress }) =>
      inPrivateFolder((folder) => rehearse(service, folder, act, progress)),
    )
    await service.context.maintenance.noteDrill(act())
    return { json: result, text: lineOf(result) }
  } catch (error) {
    await noteAct(service.context, act(), 'database.drill', null, 'failed').catch(() => {})
    throw error
  }
}

/** Responses as JSON. The key is the requested record, for example `region 3`. */
type Answers = ReadonlyMap<string, string>

async function rehearse(service: Service, folder: string, act: MakeAct, progress: ReportProgress) {
  const { context } = service
  const [backup, database] = [join(folder, 'backup.age'), join(folder, 'restored.sqlite')]
  const moment = act()
  const before = await shownBy(context, moment.at)
  const start = elapsedMillis()
  const manifest = await backUp(context, backup, { recipients: [] }, moment, { progress, isDrill: true })
  const made = elapsedMillis()
  await context.directory.catchUp()
  const after = await shownBy(context, moment.at)
  const restoring = elapsedMillis()
  const restored = await service.restore(backup, database, progress)
  if (restored.manifest?.sha256 !== manifest.sha256)
    throw failed('the restored backup has a different manifest')
  progress('serving the copy')
  // The copy's clock does not advance, because free slots change with time.
  const copy = await service.openOn(database, { now: () => moment.at })
  try {
    const token = await mintDrillToken(copy.context, moment)
    const { answers, firstAt } = await askAll(copy, token)
    return {
      backupSeconds: seconds(made - start),
      backupBytes: statSync(backup).size,
      restoreSeconds: seconds(firstAt - restoring),
      records: Object.values(manifest.counts).reduce((sum, count) => sum + count, 0),
      answers: token === null ? null : compareAnswers(answers, before, after),
    }
  } finally {
    await copy.close()
  }
}

/** Computes the responses to partners at `now` (ms). */
async function shownBy(context: Context, now: number): Promise<Answers> {
  const { countries, regions } = questionsFor(context)
  const entries = countries.flatMap((country) =>
    regionsShown(context, country).map((region) => entryOf(`region ${region.id}`, presentRegion(region))),
  )
  for (const region of regions) {
    const { items, availabilityOf } = await providersShown(context, region, now)
    for (const found of items) {
      const name = `provider ${found.provider.id} in region ${region.id}`
      entries.push(entryOf(name, presentFound(found, availabilityOf(found))))
    }
  }
  return new Map(entries)
}

function entryOf(asked: string, answer: unknown): [string, string] {
  return [asked, JSON.stringify(answer)]
}

/** Serves the copy on the loopback address, and sends a partner's requests to the copy. */
async function askAll(copy: Service, token: string | null) {
  const server = await copy.listen({ host: '127.0.0.1', port: 0 })
  const get: Get = async <Body>(path: string) => {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const url = `http://127.0.0.1:${server.port}/partners/v1/${path}`
    // Ignores a proxy in the environment, because the proxy would see the token.
    const response = await fetch(url, { headers, proxy: false } as RequestInit)
    return { status: response.status, body: (await response.json()) as Body }
  }
  try {
    const first = await get('provider-regions/?country_code=CA')
    const firstAt = elapsedMillis()
    if (first.status !== (token === null ? 401 : 200))
      throw failed(`the copy answered with status ${first.status}`)
    return {
      firstAt,
      answers: token === null ? new Map() : await everyAnswer(get, questionsFor(copy.context)),
    }
  } finally {
    await server.stop()
  }
}

type Get = <Body>(path: string) => Promise<{ readonly status: number; readonly body: Body }>

async function everyAnswer(get: Get, { countries, regions }: DrillQuestions): Promise<Answers> {
  const answers = new Map<string, string>()
  const page = 'page_size=100'
  for (const country of countries) {
    const { status, body } = await get<ReturnType<typeof presentRegion>[]>(
      `provider-regions/?country_code=${country}&${page}`,
    )
    if (status !== 200) throw failed(`the copy answered with status ${status} for the regions of ${country}`)
    for (const region of body) answers.set(...entryOf(`region ${region.id}`, region))
  }
  for (const { id } of regions) {
    const { status, body } = await get<{ results: ReturnType<typeof presentFound>[] }>(
      `providers/?region_id=${id}&${page}`,
    )
    if (status !== 200) throw failed(`the copy answered with status ${status} for a search in region ${id}`)
    for (const found of body.results)
      answers.set(...entryOf(`provider ${found.providerId} in region ${id}`, found))
  }
  return answers
}

/** Ignores answers that changed during the backup. @throws Refusal if the copy and the service answer differently */
function compareAnswers(answers: Answers, before: Answers, after: Answers) {
  let [same, changed] = [0, 0]
  for (const asked of new Set([...answers.keys(), ...before.keys(), ...after.keys()])) {
    if (before.get(asked) !== after.get(asked)) changed++
    else if (answers.get(asked) === before.get(asked)) same++
    else throw failed(`the copy and the service give different answers for ${asked}`)
  }
  return { same, changed }
}

function failed(why: string): Refusal {
  return new Refusal('database_unusable', `the drill failed: ${why}`)
}

function seconds(millis: number): number {
  return Math.round(millis / 100) / 10
}

type Result = Awaited<ReturnType<typeof rehearse>>

function lineOf({ backupSeconds, backupBytes, restoreSeconds, records, answers }: Result): string {
  const size = `${(backupBytes / 1024 / 1024).toFixed(1)} MiB`
  const changed = answers?.changed ? `, ${answers.changed} changed during the drill` : ''
  const compared = answers ? `${answers.same} answers are the same${changed}` : untried
  return (
    `The drill passed: backed up in ${backupSeconds} s (${size}), restored and answering in ${restoreSeconds} s. ` +
    `${records} records match the hash in the manifest; ${compared}.`
  )
}

const untried = 'no partner has a valid token, so no answers were compared'
