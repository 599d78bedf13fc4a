import { account, biometric, careTeam, condition, of, registration } from '../gateway-under-test.ts'
import { filter, PDF, roi } from '../requester-under-test.ts'
import { submission } from '../test-taker.ts'
import type { Sent, Struck } from './struck-gateway.ts'

/** The ids of the records of a made-up batch. */
export const IDS = ['r-0', 'r-1', 'r-2', 'r-3', 'r-4', 'r-5']
const meta = (id: string) => ({ name: 'Test', type: 'screening', meta: { persistentRecordId: id } })

/** A write that takes an array: its records bear `IDS`, by which the store and the echo know them. */
export interface BatchWrite {
  readonly name:
    | 'createBiometrics'
    | 'createBiometricsBulk'
    | 'createConditions'
    | 'createConditionsBulk'
    | 'createCareTeams'
  readonly path: string
  readonly kind: string
  readonly success: number
  readonly records: (users?: readonly string[]) => Record<string, unknown>[]
}

const records =
  (make: (fields: Record<string, unknown>) => Record<string, unknown>) =>
  (users: readonly string[] = ['p-1']) =>
    IDS.map((id, at) =>
      make({ transactionId: id, source: meta(id), account: account(users[at % users.length] ?? 'p-1') }),
    )
const biometrics = records(biometric)
const conditions = records(condition)
const careTeams = records(({ transactionId: _, ...fields }) => careTeam(fields))

const PROFILE = '/health-profile'
export const BATCH_WRITES: readonly BatchWrite[] = [
  {
    name: 'createBiometrics',
    path: `${PROFILE}/biometrics`,
    kind: 'biometric',
    success: 201,
    records: biometrics,
  },
  {
    name: 'createBiometricsBulk',
    path: `${PROFILE}/biometrics/bulk`,
    kind: 'biometric',
    success: 201,
    records: biometrics,
  },
  {
    name: 'createConditions',
    path: `${PROFILE}/conditions`,
    kind: 'condition',
    success: 200,
    records: conditions,
  },
  {
    name: 'createConditionsBulk',
    path: `${PROFILE}/conditions/bulk`,
    kind: 'condition',
    success: 200,
    records: conditions,
  },
  {
    name: 'createCareTeams',
    path: `${PROFILE}/care-teams`,
    kind: 'careTeam',
    success: 200,
    records: careTeams,
  },
]

const REQUESTER = { headers: { 'x-api-version': '1.0.0' } }
const TEST = { headers: { 'x-api-version': '1.0' } }
const requester = '/medical-records/requester'

/** A write of any kind: what must be there before it, the call, and how often it has taken effect. */
export interface Write {
  readonly name: string
  readonly prepare: (gateway: Struck) => Promise<Sent>
  readonly effects: (gateway: Struck) => Promise<number>
}

const counted = (wanted: boolean): number => (wanted ? 1 : 0)

async function createTeam({ call }: Struck): Promise<void> {
  await call('POST', `${PROFILE}/care-teams`, [careTeam()])
}
const teams = async ({ call }: Struck) => (await call('GET', `${PROFILE}/care-teams?${of('p-1')}`)).body.data
const pcp = { account: account('p-1'), npi: '1234567893' }

async function upsert({ send }: Struck): Promise<string> {
  const { text = '' } = await send({ method: 'PATCH', path: requester, body: [roi()], ...REQUESTER })
  const { data } = JSON.parse(text) as { data: { authorizationUploadUrl: string }[] }
  return data[0]?.authorizationUploadUrl ?? ''
}
const found = async ({
  send,
}: Struck): Promise<{ status: { documentAvailable: boolean; authorizationName?: string } }[]> => {
  const body = { page: 1, limit: 100, filter: [filter({ lastName: 'Person' })] }
  const { text = '' } = await send({ method: 'POST', path: requester, body, ...REQUESTER })
  return (JSON.parse(text) as { data: { results: [] }[] }).data[0]?.results ?? []
}

/** Every write of the interface. */
export const WRITES: readonly Write[] = [
  ...BATCH_WRITES.map(
    ({ name, path, kind, records: made }): Write => ({
      name,
      prepare: async () => ({ method: 'POST', path, body: made() }),
      effects: async (gateway) => {
        const times = Object.values(await gateway.occurrences(kind))
        return times.length === 0 ? 0 : times.length === IDS.length ? Math.max(...times) : Number.NaN
      },
    }),
  ),
  {
    name: 'registerAccount',
    prepare: async () => ({
      method: 'POST',
      path: '/account/register',
      body: registration({ partnerAccountId: 'p-3' }),
    }),
    effects: async ({ counts }) => (await counts()).account - 2,
  },
  {
    name: 'deleteAccount',
    prepare: async () => ({ method: 'DELETE', path: `/account?${of('p-1')}` }),
    effects: async ({ counts }) => 2 - (await counts()).account,
  },
  {
    name: 'deleteCareTeams',
    prepare: async (gateway) => {
      await createTeam(gateway)
      return { method: 'DELETE', path: `${PROFILE}/care-teams?${of('p-1')}&npi=1234567893` }
    },
    effects: async ({ counts }) => 1 - (await counts()).careTeam,
  },
  {
    name: 'setPrimaryCare',
    prepare: async (gateway) => {
      await createTeam(gateway)
      return { method: 'POST', path: `${PROFILE}/care-teams/pcp`, body: pcp }
    },
    effects: async (gateway) => counted((await teams(gateway))[0]?.pcp === true),
  },
  {
    name: 'unsetPrimaryCare',
    prepare: async (gateway) => {
      await createTeam(gateway)
      await gateway.call('POST', `${PROFILE}/care-teams/pcp`, pcp)
      return { method: 'DELETE', path: `${PROFILE}/care-teams/pcp`, body: pcp }
    },
    effects: async (gateway) => counted((await teams(gateway))[0]?.pcp === false),
  },
  {
    name: 'submitAnswers',
    prepare: async () => ({ method: 'POST', path: '/assessments/bioage', body: submission('1.1'), ...TEST }),
    effects: async ({ send }) => {
      const { text = '' } = await send({ method: 'GET', path: '/assessments/bioage', ...TEST })
      return counted((JSON.parse(text) as { data: { pageNumber: string }[] }).data[0]?.pageNumber === '1.2')
    },
  },
  {
    name: 'upsertMedicalRecords',
    prepare: async () => ({ method: 'PATCH', path: requester, body: [roi()], ...REQUESTER }),
    effects: async (gateway) => (await found(gateway)).length,
  },
  {
    name: 'deleteMedicalRecords',
    prepare: async (gateway) => {
      await upsert(gateway)
      return { method: 'DELETE', path: `${requester}/ref-1`, ...REQUESTER }
    },
    effects: async (gateway) => 1 - (await found(gateway)).length,
  },
  {
    name: 'uploadAuthorization',
    prepare: async (gateway) => ({
      method: 'PUT',
      path: await upsert(gateway),
      body: PDF,
      headers: { 'content-type': 'application/pdf' },
    }),
    effects: async (gateway) => counted((await found(gateway))[0]?.status.documentAvailable === true),
  },
]

export const READS: readonly { readonly name: string; readonly sent: Sent }[] = [
  { name: 'readBiometrics', sent: { method: 'GET', path: `${PROFILE}/biometrics?${of('p-1')}` } },
  { name: 'readConditions', sent: { method: 'GET', path: `${PROFILE}/conditions?${of('p-1')}` } },
  { name: 'listCareTeams', sent: { method: 'GET', path: `${PROFILE}/care-teams?${of('p-1')}` } },
]
