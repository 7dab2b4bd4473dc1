import type { FoundMember } from '../../operations/find-records'
import { stateOf } from '../command'
import { calledName } from './persons'
import { type Columns, columnsOf } from './table'

export function presentFoundMember({ member, by }: FoundMember, partners: ReadonlyMap<number, string>) {
  return {
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    name: calledName(member),
    foundBy: by,
  }
}

export const foundColumns: Columns<ReturnType<typeof presentFoundMember>> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
  ...columnsOf('name'),
  'FOUND BY': ({ foundBy }) => foundBy,
}
