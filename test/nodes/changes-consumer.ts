import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

// A partner's program that follows the list of changes. It stores each page as a line before it asks for the next page,
// and continues from its last complete line. Takes a Following as JSON.

export interface Following {
  readonly ports: readonly number[]
  readonly token: string
  readonly file: string
  /** True to end at the first empty page. */
  readonly untilEmpty: boolean
}

export interface Entry {
  readonly id: number
  readonly state: string
  readonly [field: string]: unknown
}

export interface StoredPage {
  readonly results: readonly Entry[]
  readonly next: string
}

/** The complete lines. A process that was killed may have left a part of a line. */
export function readPages(file: string): StoredPage[] {
  if (!existsSync(file)) return []
  const whole = readFileSync(file, 'utf8')
  return whole
    .slice(0, whole.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line ? [JSON.parse(line)] : []))
}

if (import.meta.main) {
  const { ports, token, file, untilEmpty } = JSON.parse(process.argv[2] as string) as Following
  const pages = readPages(file)
  writeFileSync(file, pages.map((page) => `${JSON.stringify(page)}\n`).join(''))
  let next = pages.at(-1)?.next ?? 'https://api.example/partners/v1/booking-request-changes/'
  for (let node = 0; ; node++) {
    const { pathname, search } = new URL(next)
    const url = `http://127.0.0.1:${ports[node % ports.length]}${pathname}${search}`
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } })
    if (response.status === 503) continue
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    const page = (await response.json()) as StoredPage
    if (page.results.length > 0) appendFileSync(file, `${JSON.stringify(page)}\n`)
    else if (untilEmpty) break
    else await Bun.sleep(10)
    next = page.next
  }
}
