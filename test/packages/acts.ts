import { type BookingRequest, type SandboxError, type SandboxOptions, startSandbox } from 'anteroom-sandbox'

// This file is a partner's program, with few providers in its argument. A test compiles it, runs it in Node and in Bun, and
// compares what it prints. Lines that must not compile are marked with @ts-expect-error.
declare const process: { readonly argv: string[] }
const directory = process.argv[2] ?? ''
const content = JSON.parse(process.argv[3] ?? '')

const options: SandboxOptions = { now: '2026-12-01T09:00:00Z', frozen: true, seed: 'a text' }
const [sandbox, other] = await Promise.all([
  startSandbox({ ...options, directory, limits: { readsPerMinute: 500 } }),
  startSandbox({ ...options, directory: content }),
])
const { token, partners, clock, outcomes, requests, members } = sandbox
const show = (name: string, ...facts: unknown[]) => console.log(name, JSON.stringify(facts))

async function call(path: string, body?: object, as = token): Promise<Response> {
  return await fetch(`${sandbox.baseUrl}/partners/v1/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  })
}
const statusOf = async (path: string, as = token) => (await call(path, undefined, as)).status

let submissions = 0
async function submit(more: object = {}): Promise<number> {
  const email = `${++submissions}@example.com`
  const user = { external_user_id: `member/${submissions}` }
  const memberData = { email, firstName: 'Robin', lastName: 'Sample', country: 'CA' }
  const response = await call('booking-request/', { user, memberData, phq9Data: [], ...more })
  return ((await response.json()) as { id: number }).id
}
function submitBooking(): Promise<number> {
  const { providerId: selfSchedulingProviderId, utcStartTime, utcEndTime } = sandbox.examples
  return submit({ bookingData: { selfSchedulingProviderId, utcStartTime, utcEndTime } })
}
const brief = ({ state, providerId, utcStartTime }: BookingRequest) => [state, providerId, utcStartTime]
const fault = (refused: Promise<unknown>) =>
  refused.catch(({ status, code, message }: SandboxError) => [status, code, message])

const regions = 'provider-regions/?country_code=CA'
const policy = (await call(regions)).headers.get('ratelimit-policy')?.split(';')[1]
show('alike', other.baseUrl !== sandbox.baseUrl, other.token === token, policy)

const { utcStartTime: first } = sandbox.examples
const booking = await submitBooking()
const [intake, duplicate, waiting] = [await submit(), await submit(), await submit()]
const accepted = brief(await requests.accept(booking))
show('moved', accepted, brief(await requests.move(booking, { utcStartTime: first ?? '', providerId: 2 })))
show('cancelled', brief(await requests.cancel(booking)), await fault(requests.accept(booking)))
show('declined', brief(await requests.assign(intake)), brief(await requests.decline(intake)))
show('closed', brief(await requests.close(duplicate)), await fault(requests.close(9_999)))
show('assigned', brief(await requests.assign(waiting, { providerId: 2 })))
// @ts-expect-error: a move needs a time.
show('refused', await fault(requests.move(waiting, {})))

const member = 'user/?external_user_id=member/1'
show('deactivated', await members.deactivate('member/1'), await statusOf(member))
const reactivated = await members.reactivate('member/1', { partner: 'Harbourlight' })
show('reactivated', reactivated, await statusOf(member))
show('erased', await members.erase('member/1'), await statusOf(member))
show('refused', await fault(members.erase('member/2', { partner: 'Willow Commons' })))

const name = 'Willow Commons'
const old = partners.find((partner) => partner.name === name)?.token
const rotated = await partners.rotate(name, { at: '2026-12-01T10:00:00Z' })
show('deactivated', await partners.deactivate(name), await statusOf(regions, old))
show('reactivated', await partners.reactivate(name), await statusOf(regions, old))
show('advanced', await clock.advance('PT90M'))
show('rotated', await statusOf(regions, old), await statusOf(regions, rotated.token))
const later = await clock.to('2027-01-01T09:00:00Z')
show('later', later, sandbox.examples.utcStartTime, await submitBooking())
show('unfrozen', (await clock.unfreeze()).frozen, (await clock.freeze()).frozen)
show('refused', await fault(clock.to('2026-01-01T09:00:00Z')))

const listing = { operation: 'listProviderRegions' }
show('outcomes', ...(await outcomes.add({ ...listing, code: 'overloaded' })))
show('overloaded', await statusOf(regions), await statusOf(regions))
await outcomes.add({ operation: 'submitBookingRequest', drop: 'after', partner: 'Harbourlight' })
const dropped = await submit().catch(() => 'dropped')
show('dropped', dropped, await statusOf(`user/?external_user_id=member/${submissions}`))
await outcomes.add({ ...listing, delayMs: 60_000, times: 2 })
show('cleared', await outcomes.clear(), await statusOf(regions))
// @ts-expect-error: only `before` and `after`.
show('refused', await fault(outcomes.add({ ...listing, drop: 'never' })))

await sandbox.reset()
show('reset', sandbox.examples.utcStartTime === first, await statusOf(member), await submitBooking())
await sandbox.reset({ now: '2028-02-03T09:00:00Z' })
show('reset', sandbox.examples.utcStartTime, await other.clock.advance('P0D'))

// @ts-expect-error: there is no such option.
show('refused', await fault(startSandbox({ forzen: true })), await fault(startSandbox({ now: 'soon' })))
// @ts-expect-error: there is no such limit.
show('refused', await fault(startSandbox({ limits: { reads: 1 } })))
// @ts-expect-error: a value from JavaScript may be null.
await (await startSandbox(null)).stop()
await Promise.all([sandbox.stop(), sandbox.stop(), other[Symbol.asyncDispose]()])
show('stopped', Array.isArray(await fault(clock.freeze())))
