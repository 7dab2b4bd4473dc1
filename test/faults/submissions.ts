import { Database } from 'bun:sqlite'
import { linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { RequestRecord, ScreeningAnswer } from '../../src/domain/booking-request'
import { systemClock } from '../../src/domain/ports/time'
import { openStorage } from '../../src/service'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import type { OfferedSlot } from '../support/process'
import type { Answer } from '../support/service'
import { faultsIn } from './database'
import type { Files } from './disk'

/** A submission of a partner. The answer is null if the server was gone. */
export interface Submission {
  readonly mark: string
  readonly body: ReturnType<typeof booking>
  answer: Answer | null
}

const databaseName = 'anteroom.sqlite'
const unlimited = ['bookings-per-minute', 'reads-per-minute', 'intakes-per-hour', 'open-intakes'].flatMap(
  (limit) => [`--${limit}`, 'off'],
)

/** The files of a production database with a partner and slots, after a clean stop. */
export class Practice {
  private constructor(
    readonly files: Files,
    readonly token: string,
    private readonly slots: readonly OfferedSlot[],
  ) {}

  /** @param providers the number of providers. Each provider has about 900 slots */
  static async make(providers: number): Promise<Practice> {
    using operator = new Operator()
    const always = {
      weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
    }
    const workingHours = [{ ...always, start: '00:00', end: '24:00' }] as never
    const directory = operator.folder.file('directory.json')
    const refs = Array.from({ length: providers }, (_, index) => `on-${index}`)
    const document = { regions: [region()], providers: refs.map((ref) => provider(ref, { workingHours })) }
    writeFileSync(directory, JSON.stringify(document))
    await operator.do('init')
    const token = await operator.onboard('Lantern', 'North Care')
    await operator.do('directory', 'load', directory)
    await using service = await operator.serve()
    const { body } = await service.get('/partners/v1/providers/?region_id=1&page_size=100', token)
    await service.stop()
    const files = [databaseName, `${databaseName}.key`].map(
      (name) => [name, readFileSync(operator.folder.file(name))] as const,
    )
    const soon = Date.now() + 86_400_000
    const slots: OfferedSlot[] = body.results.flatMap(
      ({ providerId, availability }: { providerId: number; availability: OfferedSlot[] }) =>
        availability.map(({ utcStartTime }) => ({ providerId, utcStartTime })),
    )
    const later = slots.filter(({ utcStartTime }) => Date.parse(utcStartTime) > soon)
    return new Practice(new Map(files), token, later)
  }

  /** Returns an operator whose folder contains the given files. The default is the files of this object. */
  place(files: Files = this.files): Operator {
    return operatorWith(files)
  }

  serve(operator: Operator, command?: readonly string[]): Promise<Served> {
    return command ? operator.serveBy(command, ...unlimited) : operator.serve(...unlimited)
  }

  /** Looks up a member. Any answer shows that the server has started. */
  async findAny(service: Served): Promise<void> {
    const { status } = await service.get('/partners/v1/user/?external_user_id=member-0', this.token)
    if (status !== 200 && status !== 404) throw new Error(`a look-up was answered ${status}`)
  }

  /**
   * Builds submission `number` without sending it. Two of three submissions are bookings of new members.
   * Every third is an intake that changes a member who has booked before.
   */
  submission(number: number): Submission {
    const mark = `mark-${number}`
    const isIntake = number % 3 === 2
    const [slot] = isIntake ? [] : this.slots.slice(number, number + 1)
    if (!isIntake && !slot) throw new Error('all slots are booked')
    const member = isIntake ? number - 2 : number
    const body = booking(`member-${member}`, slot, { preferredName: mark })
    const phq9Data = Array.from({ length: 9 }, (_, item) => ({ question: `Item ${item + 1}?`, answer: mark }))
    return { mark, body: { ...body, phq9Data }, answer: null }
  }

  /** Submits on several connections until `most` submissions are sent or the server is gone. */
  async submit(service: Served, from: number, most: number, connections = 12): Promise<Submission[]> {
    const sent: Submission[] = []
    const connection = async (): Promise<void> => {
      while (sent.length < most) {
        const submission = this.submission(from + sent.length)
        sent.push(submission)
        submission.answer = await service.post(submission.body, this.token).catch(() => null)
        if (!submission.answer) return
      }
    }
    await Promise.all(Array.from({ length: connections }, connection))
    return sent
  }
}

export function operatorWith(files: Files, command?: readonly string[]): Operator {
  const operator = new Operator(command)
  const placed = new Map<Buffer, string>()
  // Sorted by name, so that a folder comes before its contents.
  for (const [name, bytes] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const path = operator.folder.file(name)
    const same = bytes && placed.get(bytes)
    if (bytes === null) mkdirSync(path, { mode: 0o700 })
    else if (same) linkSync(same, path)
    else writeFileSync(path, bytes, { mode: 0o600 })
    if (bytes) placed.set(bytes, path)
  }
  return operator
}

/** Returns the ids of the stored requests that are higher than `id`. */
function idsAfter(path: string, id: number): number[] {
  using database = new Database(path, { readonly: true })
  const select = 'SELECT id FROM booking_requests WHERE id > ? ORDER BY id'
  return database
    .query<{ id: number }, [number]>(select)
    .all(id)
    .map((row) => row.id)
}

/**
 * Compares a database with submissions and their answers. Returns a line for each answered request that is lost,
 * corrupted or duplicated. Also returns a line for each unanswered request that is stored in part.
 *
 * @param after the id of the newest request before these submissions
 */
export async function differences(path: string, sent: readonly Submission[], after = 0): Promise<string[]> {
  const { records, close } = await openStorage({
    purpose: 'production',
    database: path,
    masterKey: { file: `${path}.key` },
    create: false,
    clock: systemClock,
    report: () => {},
  })
  try {
    const store = actsOf(records)
    const ids = idsAfter(path, after)
    const screenings = await store.sortingAnswers(ids)
    const stored = Map.groupBy(ids, (id) => screenings.get(id)?.at(0)?.answer ?? 'an unreadable request')
    const newest = new Map<string, { id: number; mark: string }>()
    const found: string[] = []
    for (const submission of sent) {
      const { mark, body, answer } = submission
      const [id, ...more] = stored.get(mark) ?? []
      stored.delete(mark)
      if (answer && answer.status !== 201) found.push(`${mark} was answered ${answer.status}`)
      if (more.length > 0) found.push(`${mark} is stored twice`)
      if (id === undefined) {
        if (answer?.status === 201) found.push(`${mark} is lost`)
        continue
      }
      const member = body.user.external_user_id
      if (id > (newest.get(member)?.id ?? 0)) newest.set(member, { id, mark })
      const is = asStored(await store.findRequest(id), screenings.get(id))
      // An unanswered request has an unknown id and number. So the stored id and number count as correct.
      const should = asSubmitted(submission, is)
      if (!Bun.deepEquals(is, should)) found.push(`${mark} is corrupted: ${JSON.stringify({ is, should })}`)
    }
    for (const [mark, requests] of stored) found.push(`requests ${requests} match no submission: ${mark}`)
    for (const [externalUserId, { mark }] of newest) {
      const member = await store.findMember(1, externalUserId)
      if (member?.profile.preferredName !== mark)
        found.push(`${externalUserId} does not have the profile of ${mark}`)
    }
    const verdict = await store.verifyAudit(null)
    if (!verdict.intact) found.push(`the audit log is not intact: ${JSON.stringify(verdict)}`)
    return [...found, ...faultsIn(path), ...halvesIn(path)]
  } finally {
    await close()
  }
}

function asStored(request: RequestRecord | null, screening: readonly ScreeningAnswer[] | undefined) {
  return {
    id: request?.id,
    state: request?.state,
    slot: [request?.providerId, request?.startsAt],
    authorizationNumber: request?.authorizationNumber,
    member: [request?.member?.id, request?.member?.externalUserId, request?.member?.profile.email],
    screening,
  }
}

function asSubmitted({ body, answer }: Submission, stored: ReturnType<typeof asStored>): typeof stored {
  const { user, bookingData: slot, memberData, phq9Data } = body
  const [memberId] = stored.member
  const isNumbered = typeof stored.authorizationNumber === 'string'
  const unanswered = isNumbered === (slot !== undefined) ? stored.authorizationNumber : undefined
  return {
    id: answer ? answer.body.id : stored.id,
    state: slot ? 'pending' : 'unassigned',
    slot: slot ? [slot.selfSchedulingProviderId, Date.parse(slot.utcStartTime)] : [null, null],
    authorizationNumber: answer ? answer.body.authorizationNumber : unanswered,
    member: [answer ? answer.body.member.id : memberId, user.external_user_id, memberData.email],
    screening: phq9Data,
  }
}

const halves = {
  'a member without a request':
    'SELECT id FROM members WHERE NOT EXISTS (SELECT 1 FROM booking_requests WHERE member_id = members.id)',
  'a taken slot without a directory change': `SELECT id FROM booking_requests WHERE starts_at IS NOT NULL AND NOT EXISTS
     (SELECT 1 FROM changes WHERE noun = 'taken' AND record_id = provider_id)`,
  'a slot booked twice': `SELECT min(id) AS id FROM booking_requests WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL
     GROUP BY provider_id, starts_at HAVING count(*) > 1`,
  'a member stored twice':
    'SELECT min(id) AS id FROM members GROUP BY partner_id, external_user_id_hash HAVING count(*) > 1',
}

function halvesIn(path: string): string[] {
  using database = new Database(path, { readonly: true })
  return Object.entries(halves).flatMap(([what, select]) =>
    database
      .query<{ id: number }, []>(select)
      .all()
      .map(({ id }) => `${what}: ${id}`),
  )
}
