import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import {
  biometricsOf,
  conditionsOf,
  createBiometrics,
  createConditions,
  queryOf,
  register,
  some,
} from './profile.ts'
import { biometric, condition, SYSTOLIC, source } from './sample-records.ts'
import { assertForm, assertKept, assertStatus, at, oneOf, TEXT, textAt } from './values.ts'

const reference = inSection('Account reference (request bodies, field account)')
const sourceObject = inSection('Source object (source)')
const codeObject = inSection('Code object (codes[], medication[])')

/** A biometric that was created and read back. */
async function readBack(client: Client): Promise<unknown> {
  const { account } = await register(client)
  await createBiometrics(client, [biometric(account, client.unique('record'))])
  return (await biometricsOf(client, account))[0]
}

/** An account as answers give it: `accountId`, or `entity` in URL form that ends in the account id. */
function assertAccountRead(came: unknown, place: string): void {
  assertForm(at(came, 'type'), oneOf('accountId', 'entity'), `${place}.type`)
  assertForm(at(came, 'reference'), TEXT, `${place}.reference`)
}

/** Sections "Account reference", "Source object", "Code object". */
export const SHARED_OBJECT_CASES: readonly ConformanceCase[] = [
  reference.writes('reference', async (client) => {
    const [one, other] = [await register(client), await register(client)]
    await createBiometrics(client, [biometric(one.account, client.unique('record'))])
    assertKept((await biometricsOf(client, one.account)).length, 1, "the number of the user's records")
    assertKept((await biometricsOf(client, other.account)).length, 0, "the number of another user's records")
  }),
  reference.writes('type', async (client) => {
    const { account, accountId } = await register(client)
    const byId = { reference: accountId, type: 'accountId' } as const
    for (const [user, dataset] of [
      [account, 'one'],
      [byId, 'other'],
    ] as const) {
      const record = { ...biometric(user, client.unique('record')), source: source(dataset) }
      await createBiometrics(client, [record])
    }
    assertKept((await biometricsOf(client, account)).length, 2, 'the number of records by partnerAccountId')
    assertKept((await biometricsOf(client, byId)).length, 2, 'the number of records by accountId')
  }),
  reference.writes('sponsor', async (client) => {
    const { account } = await register(client)
    const record = biometric(account, client.unique('record'))
    const body = await createBiometrics(client, [record])
    assertKept(at(body, 'data.0.account.sponsor'), record.account.sponsor, 'data[].account.sponsor')
  }),
  reference.account(
    'In read responses the same information appears as accountReference (biometrics)',
    async (client, account) => {
      for (const record of some(await biometricsOf(client, account), 'biometrics'))
        assertAccountRead(at(record, 'accountReference'), 'accountReference')
    },
  ),
  reference.account('or account (conditions) with type and reference.', async (client, account) => {
    for (const record of some(await conditionsOf(client, account), 'conditions'))
      assertAccountRead(at(record, 'account'), 'account')
  }),
  reference.writes('Type is accountId or entity.', async (client) => {
    const { account, accountId } = await register(client)
    await createBiometrics(client, [biometric(account, client.unique('record'))])
    const [record] = await biometricsOf(client, account)
    assertAccountRead(at(record, 'accountReference'), 'accountReference')
    const named = textAt(record, 'accountReference.reference')
    const entity = at(record, 'accountReference.type') === 'entity'
    assertKept(
      entity ? named.endsWith(accountId) : named === accountId,
      true,
      'the reference being the account id',
    )
  }),
  reference.account(
    'For entity the reference is a URL-form identifier that ends in the account id.',
    async (client, account) => {
      for (const record of some(await biometricsOf(client, account), 'biometrics')) {
        if (at(record, 'accountReference.type') !== 'entity') continue
        const named = textAt(record, 'accountReference.reference')
        const ends = account.type !== 'accountId' || named.endsWith(account.reference)
        assertKept(ends && named.includes('/'), true, 'accountReference.reference being in URL form')
      }
    },
  ),
  reference.account(
    'User-identifying query parameters are accountReference (string) and accountReferenceType (accountId or partnerAccountId).',
    async (client, account) => {
      assertStatus(await client.send('GET', '/health-profile/biometrics', { query: queryOf(account) }), 200)
      assertStatus(await client.send('GET', '/health-profile/conditions', { query: queryOf(account) }), 200)
    },
  ),

  ...(['name', 'type', 'notes'] as const).map((field) =>
    sourceObject.writes(field, async (client) => {
      assertKept(at(await readBack(client), `source.${field}`), source()[field], `source.${field}`)
    }),
  ),
  sourceObject.writes('meta', async (client) => {
    assertKept(at(await readBack(client), 'source.meta'), source().meta, 'source.meta')
  }),
  ...(['batchId', 'resourceKey', 'sendingSystem', 'persistentRecordId'] as const).map((field) =>
    sourceObject.writes(field, async (client) => {
      assertKept(
        at(await readBack(client), `source.meta.${field}`),
        source().meta[field],
        `source.meta.${field}`,
      )
    }),
  ),
  sourceObject.writes('dataQuality', async (client) => {
    const { account } = await register(client)
    await createConditions(client, [condition(account, client.unique('record'))])
    const [record] = await conditionsOf(client, account)
    assertKept(at(record, 'source.meta.dataQuality'), 'normalized', 'source.meta.dataQuality')
  }),

  ...(['code', 'codeSystem', 'codeSystemName', 'name'] as const).map((field) =>
    codeObject.writes(field, async (client) => {
      assertKept(at(await readBack(client), `codes.0.${field}`), SYSTOLIC[field], `codes[].${field}`)
    }),
  ),
]
