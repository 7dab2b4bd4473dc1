import { mainThreadMillisOf } from '../support/cpu'
import { buildArguments, Folder } from '../support/process'
import { type Ask, regionList } from './asks'
import { attempt, comparing, median, type Row, rounds, type RowSpec, toText } from './row'
import { Serving } from './service'

const [few, many] = [60, 100_000]

/** The words that start a server which says at which port it listens, in which folder, with which environment. */
export interface StartWords {
  readonly words: readonly string[]
  readonly folder: string
  readonly settings: Readonly<Record<string, string>>
}

/** What a start of the executable takes, on a database that is there. */
export async function benchStart(): Promise<Row[]> {
  return [
    await attempt({ name: `start to the first answer, ${few} providers`, goal: '<= 4' }, compareWithBare),
    await attempt({ name: `start to the first answer, ${many} providers`, goal: '<= 2 s' }, ofMany),
  ]
}

async function compareWithBare(spec: RowSpec): Promise<Row> {
  using folder = new Folder()
  await using serving = await Serving.start(few)
  await serving.pause()
  const bare = { words: [buildBare(folder)], folder: folder.path, settings: {} }
  const taken: [Start, Start][] = []
  // First comes one of each that is not counted: their files have to be in memory.
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

/** From the start of a process to the end of its first answer, in ms: all of it, and what its main thread took of a core. */
export interface Start {
  readonly millis: number
  readonly cpuMillis: number
}

/** Starts a server, asks it once, and ends it. @throws Error where it did not answer what it should */
export async function start({ words, folder, settings }: StartWords, ask: Ask): Promise<Start> {
  const begunAt = performance.now()
  const child = Bun.spawn([...words], {
    cwd: folder,
    env: { ...settings },
    stdin: 'ignore',
    stdout: 'pipe',
    // Its log.
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

/** Builds the least that answers as the executable is built. */
function buildBare(folder: Folder): string {
  const executable = folder.file('bare')
  const words = buildArguments(executable, 'test/bench/bare-start.ts')
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words])
  if (exitCode !== 0) throw new Error(`the bare executable could not be built: ${stderr}`)
  return executable
}
