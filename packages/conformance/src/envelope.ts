import {
  allFormed,
  answered,
  at,
  byName,
  type ConformanceCase,
  formed,
  inSection,
  jsonOf,
  kept,
  oneOf,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import {
  BIOMETRICS,
  biometric,
  biometricsOf,
  CONDITIONS,
  condition,
  conditionsOf,
  createBiometrics,
  createConditions,
  queryOf,
  readBiometrics,
  readConditions,
  register,
  registerTwo,
  registration,
  SYSTOLIC,
  someBiometrics,
  someConditions,
  source,
} from './made-up.ts'
import { PATH as REQUESTER } from './medical-records.ts'
import { ARTICLES } from './reads.ts'

const envelope = inSection('Envelope')
const reference = inSection('Account reference (request bodies, field account)')
const sourceObject = inSection('Source object (source)')
const codeObject = inSection('Code object (codes[], medication[])')

/** Checks that `code` mirrors the status, in the section's type for the call. */
function mirrored(answer: Answer, type: 'integer' | 'string'): void {
  const expected = type === 'integer' ? answer.status : String(answer.status)
  kept(at(jsonOf(answer), 'code'), expected, `${answer.call}: code, the status as ${type},`)
}

async function readBack(client: Client): Promise<unknown> {
  const { account } = await register(client)
  await createBiometrics(client, [biometric(client, account)])
  return (await biometricsOf(client, account))[0]
}

/** Checks an account in an answer: `accountId`, or `entity` in URL form ending in the account id. */
const accountFormed = (came: unknown, place: string) =>
  allFormed(came, { type: oneOf('accountId', 'entity'), reference: 'text' }, `${place}.`)

/** Sections "Envelope", "Account reference", "Source object", "Code object". */
export const ENVELOPE_CASES: readonly ConformanceCase[] = [
  ...envelope.nothing({
    code: async (client) => {
      mirrored(await client.send('GET', ARTICLES), 'integer')
      mirrored(await client.send('GET', `${REQUESTER}/requestTypes`), 'integer')
    },
    message: async (client) =>
      formed(at(jsonOf(await client.send('GET', ARTICLES)), 'message'), 'text', 'message'),
    data: async (client) => formed(at(jsonOf(await client.send('GET', ARTICLES)), 'data'), 'list', 'data'),
  }),
  ...envelope.account({
    code: async (client, account) => {
      const query = queryOf(account)
      mirrored(await client.send('GET', BIOMETRICS, { query }), 'string')
      const conditions = await client.send('GET', CONDITIONS, { query })
      kept(at(jsonOf(conditions), 'data.code'), String(conditions.status), 'code of the nested envelope')
    },
    errors: async (client, account) =>
      kept(at(await readBiometrics(client, account), 'errors'), [], 'errors, empty on success,'),
    'The get-conditions response nests a whole envelope (code, message, data, errors) inside an outer data object.':
      async (client, account) => {
        allFormed(await readConditions(client, account), {
          data: 'object',
          'data.code': 'text',
          'data.message': 'text',
          'data.data': 'list',
          'data.errors': 'list',
        })
      },
  }),
  ...envelope.writes({
    'It is a string in health-profile reads and writes other than biometric create': async (client) => {
      const { account } = await register(client)
      const created = await createBiometrics(client, [biometric(client, account)])
      kept(at(created, 'code'), 201, 'code of a biometric create')
      mirrored(await client.send('POST', CONDITIONS, { json: [condition(client, account)] }), 'string')
    },
    errors: async (client) => {
      const { account } = await register(client)
      const conditions = await createConditions(client, [condition(client, account)])
      kept(at(conditions, 'errors'), [], 'errors of a condition create')
      const biometrics = await createBiometrics(client, [biometric(client, account)])
      kept(at(biometrics, 'errors') ?? [], [], 'errors of a biometric create, where there are any,')
    },
    'Account registration': async (client) => {
      const json = registration(client.unique('user'))
      const body = jsonOf(await client.send('POST', '/account/register', { json }))
      formed(at(body, 'accountId'), 'text', 'accountId, without an envelope,')
      kept(at(body, 'data'), undefined, 'data, as there is no envelope,')
    },
  }),

  ...reference.writes({
    reference: async (client) => {
      const [one, other] = await registerTwo(client)
      await createBiometrics(client, [biometric(client, one.account)])
      kept((await biometricsOf(client, one.account)).length, 1, "the number of the user's records")
      kept((await biometricsOf(client, other.account)).length, 0, "the number of another user's records")
    },
    type: async (client) => {
      const { account, accountId } = await register(client)
      const byId = { reference: accountId, type: 'accountId' } as const
      await createBiometrics(client, [{ ...biometric(client, account), source: source('one') }])
      await createBiometrics(client, [{ ...biometric(client, byId), source: source('other') }])
      kept((await biometricsOf(client, account)).length, 2, 'the number of records by partnerAccountId')
      kept((await biometricsOf(client, byId)).length, 2, 'the number of records by accountId')
    },
    sponsor: async (client) => {
      const record = biometric(client, (await register(client)).account)
      const body = await createBiometrics(client, [record])
      kept(at(body, 'data.0.account.sponsor'), record.account.sponsor, 'data[].account.sponsor')
    },
    'Type is accountId or entity.': async (client) => {
      const { account, accountId } = await register(client)
      await createBiometrics(client, [biometric(client, account)])
      const [record] = await biometricsOf(client, account)
      accountFormed(at(record, 'accountReference'), 'accountReference')
      const named = textAt(record, 'accountReference.reference')
      const entity = at(record, 'accountReference.type') === 'entity'
      const same = entity ? named.endsWith(accountId) : named === accountId
      kept(same, true, 'the reference being the account id')
    },
  }),
  ...reference.account({
    'In read responses the same information appears as accountReference (biometrics)': async (
      client,
      account,
    ) => {
      for (const record of await someBiometrics(client, account))
        accountFormed(at(record, 'accountReference'), 'accountReference')
    },
    'or account (conditions) with type and reference.': async (client, account) => {
      for (const record of await someConditions(client, account))
        accountFormed(at(record, 'account'), 'account')
    },
    'For entity the reference is a URL-form identifier that ends in the account id.': async (
      client,
      account,
    ) => {
      for (const record of await someBiometrics(client, account)) {
        if (at(record, 'accountReference.type') !== 'entity') continue
        const named = textAt(record, 'accountReference.reference')
        const ends = account.type !== 'accountId' || named.endsWith(account.reference)
        kept(ends && named.includes('/'), true, 'accountReference.reference being in URL form')
      }
    },
    'User-identifying query parameters are accountReference (string) and accountReferenceType (accountId or partnerAccountId).':
      async (client, account) => {
        for (const path of [BIOMETRICS, CONDITIONS])
          answered(await client.send('GET', path, { query: queryOf(account) }), 200)
      },
  }),

  ...sourceObject.writes({
    ...byName(['name', 'type', 'notes', 'meta'], (field) => async (client) => {
      kept(at(await readBack(client), `source.${field}`), source()[field], `source.${field}`)
    }),
    ...byName(
      ['batchId', 'resourceKey', 'sendingSystem', 'persistentRecordId'],
      (field) => async (client) => {
        const place = `source.meta.${field}`
        kept(at(await readBack(client), place), source().meta[field], place)
      },
    ),
    dataQuality: async (client) => {
      const { account } = await register(client)
      await createConditions(client, [condition(client, account)])
      const [record] = await conditionsOf(client, account)
      kept(at(record, 'source.meta.dataQuality'), 'normalized', 'source.meta.dataQuality')
    },
  }),
  ...codeObject.writes(
    byName(['code', 'codeSystem', 'codeSystemName', 'name'], (field) => async (client) => {
      kept(at(await readBack(client), `codes.0.${field}`), SYSTOLIC[field], `codes[].${field}`)
    }),
  ),
]
