import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import { PATH } from './medical-records-calls.ts'
import { createTaker } from './paged-test.ts'
import { queryOf, register } from './profile.ts'
import { assertStatus } from './values.ts'

const versioning = inSection('Versioning')

async function assertTaken(client: Client, path: string, version: string): Promise<void> {
  assertStatus(await client.send('GET', path, { headers: { 'X-API-Version': version } }), 200)
}

/** Section "Versioning", but for the deprecated paths, which are with the age assessment. */
export const VERSIONING_CASES: readonly ConformanceCase[] = [
  versioning.control('value 1.0 on the paged test endpoints', async (client, control) => {
    const { token } = await createTaker(client, control)
    const headers = { 'X-API-Version': '1.0' }
    assertStatus(await client.send('GET', '/assessments/bioage', { token, headers }), 200)
  }),
  versioning.nothing('1.0.0 on content and requester endpoints', async (client) => {
    await assertTaken(client, '/content/distribution/article', '1.0.0')
    await assertTaken(client, `${PATH}/requestTypes`, '1.0.0')
  }),
  versioning.account(
    'Health-profile, account and age-result samples send no version header.',
    async (client, account) => {
      const query = queryOf(account)
      for (const path of ['/health-profile/biometrics', '/health-profile/conditions'])
        assertStatus(await client.send('GET', path, { query, without: ['X-API-Version'] }), 200)
      const result = await client.send('GET', '/bioage/result', { query, without: ['X-API-Version'] })
      assertStatus(result, 200, 204, 404)
    },
  ),
  versioning.writes('account and age-result samples send no version header.', async (client) => {
    await register(client)
  }),
]
