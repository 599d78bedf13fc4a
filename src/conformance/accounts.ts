import {
  answered,
  at,
  type ConformanceCase,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  refused,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import {
  BIOMETRICS,
  biometric,
  biometricsOf,
  createBiometrics,
  register,
  registerTwo,
  registration,
  unregister,
} from './profile.ts'

/** A user that is registered, and deleted again. */
async function deleted(client: Client, form: 'accountId' | 'partnerAccountId'): Promise<void> {
  const { account, accountId } = await register(client)
  await unregister(client, form === 'accountId' ? { reference: accountId, type: 'accountId' } : account)
  const json = [biometric(client, account)]
  notTaken(await client.send('POST', BIOMETRICS, { json }), 'the account is deleted')
}

/** Whether the call is refused or lists the record among its errors, the document leaves open; it may not be taken. */
function notTaken(answer: Answer, why: string): void {
  if (answer.status < 200 || answer.status >= 300) refused(answer, why)
  else {
    const body = jsonOf(answer)
    kept(listAt(body, 'data'), [], `data, as ${why}`)
    formed(at(body, 'errors.0'), 'error', `errors.0, as ${why}`)
  }
}

/** Sections "Registration", "Endpoints: Accounts", "States: Account". */
export const ACCOUNT_CASES: readonly ConformanceCase[] = [
  ...inSection('Registration').writes({
    'Request fields: dateOfBirth (string, YYYY-MM-DD), firstName (string), gender (string, FEMALE is used), lastName (string), partnerAccountId (string), postalCode (string).':
      register,
    'Response fields: accountId (string), partnerAccountId (string).': async (client) => {
      const reference = client.unique('user')
      const answer = await client.send('POST', '/account/register', { json: registration(reference) })
      const body = jsonOf(answered(answer, 200, 201))
      formed(at(body, 'accountId'), 'text', 'accountId')
      kept(at(body, 'partnerAccountId'), reference, 'partnerAccountId')
    },
  }),
  ...inSection('Endpoints: Accounts').writes({
    'POST /account/register': async (client) => {
      const { account, accountId } = await register(client)
      await createBiometrics(client, [biometric(client, { reference: accountId, type: 'accountId' })])
      const held = await biometricsOf(client, account)
      kept(held.length, 1, 'records stored by account id, read by partner account id: their number')
    },
    'DELETE /account': (client) => deleted(client, 'accountId'),
  }),
  ...inSection('States: Account').writes({
    none: async (client) => createBiometrics(client, [biometric(client, (await register(client)).account)]),
    registered: (client) => deleted(client, 'partnerAccountId'),
  }),
  ...inSection('What the service does').writes({
    'Accounts: registers a user account keyed by a partner-supplied identifier': async (client) => {
      const [one, other] = await registerTwo(client)
      const distinct = one.accountId !== other.accountId
      kept(distinct, true, 'the account ids of two partner identifiers being two')
    },
    'Registration must be completed before any user-centric call.': async (client) => {
      const stranger = { reference: client.unique('stranger'), type: 'partnerAccountId' } as const
      const json = [biometric(client, stranger)]
      notTaken(await client.send('POST', BIOMETRICS, { json }), 'the account is not registered')
    },
    'Accounts can be deleted.': async (client) => unregister(client, (await register(client)).account),
  }),
]
