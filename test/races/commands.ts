import { Refusal } from '../../src/domain/errors'
import type { Partner } from '../../src/domain/partner'
import type { Context } from '../../src/operations/context'
import { editMember, setMemberActive } from '../../src/operations/members'
import { setOrganizationActive, setPartnerActive } from '../../src/operations/partners'
import { setProviderActive } from '../../src/operations/providers'
import { acceptRequest, endRequest } from '../../src/operations/requests'
import { issueFirstToken, revokeToken } from '../../src/operations/tokens'
import { placeRequest } from '../../src/operations/transitions'
import { actsOf } from '../support/acts'
import { actAt } from '../support/service'

/** A command of an operator, in a form that can be sent as JSON. */
export type Command =
  | { readonly act: 'accept' | 'decline' | 'close'; readonly request: number }
  | { readonly act: 'move'; readonly request: number; readonly provider: number; readonly startsAt: number }
  | {
      readonly act: 'assign'
      readonly request: number
      readonly provider: number
      /** The start of the slot in ms; null to assign only the provider. */
      readonly startsAt: number | null
    }
  | {
      readonly act: 'deactivate' | 'reactivate'
      readonly noun: 'member' | 'partner' | 'organization' | 'provider'
      readonly id: number
    }
  | { readonly act: 'release' | 'erase'; readonly member: number }
  | { readonly act: 'issue' | 'revoke'; readonly partner: number }

export interface Ended {
  /** The kind of the refusal; null on success. */
  readonly refusal: string | null
  readonly token: string | null
}

/** Reads the latest directory, like a new process, and carries out a command. @param at the instant in ms */
export async function command(context: Context, asked: Command, at: number): Promise<Ended> {
  await context.directory.catchUp()
  try {
    const made = await carryOut(context, asked, at)
    return { refusal: null, token: typeof made === 'string' ? made : null }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.kind, token: null }
    throw error
  }
}

function carryOut(context: Context, asked: Command, at: number): Promise<unknown> {
  const by = actAt(at)
  switch (asked.act) {
    case 'accept':
      return acceptRequest(context, asked.request, by)
    case 'decline':
      return endRequest(context, 'decline', asked.request, by)
    case 'close':
      return endRequest(context, 'close', asked.request, by)
    case 'move':
      return placeRequest(context, 'move', asked.request, providerOf(context, asked), asked.startsAt, by)
    case 'assign':
      return placeRequest(context, 'assign', asked.request, providerOf(context, asked), asked.startsAt, by)
    case 'deactivate':
    case 'reactivate':
      return setActive[asked.noun](context, { id: asked.id } as never, asked.act === 'reactivate', by)
    case 'release':
      return editMember(context, asked.member, { email: '' }, by)
    case 'erase':
      // Skips the purge of the database files, because it changes no records.
      return actsOf(context).eraseMember(asked.member, by)
    case 'issue':
      return issueFirstToken(context, { id: asked.partner } as Partner, by)
    case 'revoke':
      return revokeToken(context, { id: asked.partner } as Partner, by)
  }
}

const setActive = {
  member: setMemberActive,
  partner: setPartnerActive,
  organization: setOrganizationActive,
  provider: setProviderActive,
}

function providerOf({ directory }: Context, { provider }: { provider: number }) {
  const found = directory.listProviders().find(({ id }) => id === provider)
  if (!found) throw new Error(`there is no provider ${provider}`)
  return found
}
