import { mainThreadMillisOf } from '../support/cpu'
import { buildArguments, Folder } from '../support/process'
import { type Ask, regionList } from './asks'
import { attempt, comparing, median, type Row, type RowSpec, rounds, toText } from './row'
import { Serving } from './service'

const [few, many] = [60, 100_000]

/** The command line, folder and environment of a server that prints its port. */
export interface StartWords {
  readonly words: readonly string[]
  readonly folder: string
  readonly settings: Readonly<Record<string, string>>
}

/** The start time of the executable on an existing database. */
export async function benchStart(): Promise<Row[]> {
  return [
    await attempt({ name: `start to the first response, ${few} providers`, goal: '<= 4' }, compareWithBare),
    await attempt({ name: `start to the first response, ${many} providers`, goal: '<= 2 s' }, ofMany),
  ]
}

async function compareWithBare(spec: RowSpec): Promise<Row> {
  using folder = new Folder()
  await using serving = await Serving.start(few)
  await serving.pause()
  const bare = { words: [buildBare(folder)], folder: folder.path, settings: {} }
  const taken: [Start, Start][] = []
  // The first round is not counted, so that the files are in memory.
  for (let round = -1; round < rounds; round++) {
    const pair: [Start, Start] = [
      await start(serving.startWords, regionList(serving)),
      await start(bare, regionList(serving)),
    ]
    if (round >= 0) taken.push(pair)
  }
  return comparing(spec, {
    ours: taken.map(([{ millis }]) => millis),
    theirs: taken.map(([, { millis }]) => millis),
    cpuRatios: taken.map(([ours, theirs]) => ours.cpuMillis / theirs.cpuMillis),
    unit: 'ms',
    referenceName: 'a bare Bun executable',
  })
}

async function ofMany(spec: RowSpec): Promise<Row> {
  await using serving = await Serving.start(many)
  await serving.pause()
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    took.push((await start(serving.startWords, regionList(serving))).millis)
  }
  return { ...spec, figure: `${toText(median(took) / 1_000)} s` }
}

/** Both times end with the first response. The CPU time is that of the main thread. */
export interface Start {
  readonly millis: number
  readonly cpuMillis: number
}

/** Starts a server, sends one request and ends it. @throws Error if the status is not the expected one */
export async function start({ words, folder, settings }: StartWords, ask: Ask): Promise<Start> {
  const begunAt = performance.now()
  const child = Bun.spawn([...words], {
    cwd: folder,
    env: { ...settings },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  try {
    const { value } = await child.stdout.getReader().read()
    const port = Number(/port (\d+)/.exec(new TextDecoder().decode(value))?.[1])
    const response = await fetch(`http://127.0.0.1:${port}${ask.path}`, { headers: ask.headers })
    await response.bytes()
    const millis = performance.now() - begunAt
    if (response.status !== ask.status) throw new Error(`answered ${response.status}, not ${ask.status}`)
    return { millis, cpuMillis: await mainThreadMillisOf(child.pid) }
  } finally {
    child.kill()
    await child.exited
  }
}

/** Builds the minimal server in the same way as the executable. */
function buildBare(folder: Folder): string {
  const executable = folder.file('bare')
  const words = buildArguments(executable, 'test/bench/bare-start.ts')
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words])
  if (exitCode !== 0) throw new Error(`the bare executable could not be built: ${stderr}`)
  return executable
}
