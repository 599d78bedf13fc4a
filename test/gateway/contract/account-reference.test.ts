import { expect, it } from 'vitest'
import { AccountReference, accountIdOfEntity } from '../../../src/gateway/contract/account.ts'

it.each([
  ['https://gateway.example/accounts/4711', '4711'],
  ['https://gateway.example/accounts/4711/', '4711'],
  ['/accounts/4711?x=1#y', '4711'],
  ['4711', '4711'],
])('the entity %s ends in the account id', (entity, accountId) => {
  expect(accountIdOfEntity(entity)).toBe(accountId)
})

it.each([
  [{ reference: 'p-1', type: 'partnerAccountId' }, true],
  [{ reference: 'p-1', type: 'accountId', sponsor: 's' }, true],
  [{ reference: 'p-1', type: 'entity' }, false],
  [{ reference: '', type: 'accountId' }, false],
  [{ reference: 1, type: 'accountId' }, false],
])('%j as sent: %j', (account, valid) => {
  expect(AccountReference.safeParse(account).success).toBe(valid)
})
