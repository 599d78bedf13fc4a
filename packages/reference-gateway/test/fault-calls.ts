import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import { account, biometric, careTeam, condition, of } from './gateway-under-test.ts'

/** The ids of the records of a made-up batch. */
export const IDS = ['r-0', 'r-1', 'r-2', 'r-3', 'r-4', 'r-5']
const meta = (id: string) => ({ name: 'Test', type: 'screening', meta: { persistentRecordId: id } })

const records =
  (make: (fields: Record<string, unknown>) => Record<string, unknown>) =>
  (users: readonly string[] = ['p-1']) =>
    IDS.map((id, at) =>
      make({ transactionId: id, source: meta(id), account: account(users[at % users.length] ?? 'p-1') }),
    )
const [biometrics, conditions] = [records(biometric), records(condition)]
const careTeams = records(({ transactionId: _, ...fields }) => careTeam(fields))

/** The writes that take an array: their records bear `IDS`, by which the store and the echo know them. */
export const BATCH_WRITES = (
  [
    ['createBiometrics', 'biometric', biometrics],
    ['createBiometricsBulk', 'biometric', biometrics],
    ['createConditions', 'condition', conditions],
    ['createConditionsBulk', 'condition', conditions],
    ['createCareTeams', 'careTeam', careTeams],
  ] as const
).map(([name, kind, records]) => {
  const { path, success } = ENDPOINTS[name]
  return { name, path, kind, success: success.status, records }
})
export type BatchWrite = (typeof BATCH_WRITES)[number]

export const READS = (['readBiometrics', 'readConditions', 'listCareTeams'] as const).map((name) => {
  return { name, sent: { method: 'GET', path: `${ENDPOINTS[name].path}?${of('p-1')}` } }
})
