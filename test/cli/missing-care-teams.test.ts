/** `careTeams.missing: delete`: what an export that lists all no longer lists is deleted, and nothing else. By the command line. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW.replace('key: [id, day]', 'key: [id, npi]')}careTeams:
  doctor: { when: { active: Y }, npi: npi, name: practice, primary: { is_pcp: Y } }
`
const JOB = `exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }
careTeams: { missing: delete }
submit: { readLag: 0s }
`
const HEADER = 'id,day,first,last,born,gender,zip,npi,practice,active,is_pcp\n'
const REED = '1234567893'
const LANE = '1003000126'
const MOSS = '1013000124'

/** `ann:REED*` is her primary one; `ann:LANE-` is no longer active. */
const rows = (...listed: string[]): string =>
  listed
    .map((one) => {
      const [, id, npi, mark] = /^(\w+):(\d+)([*-]?)$/.exec(one) ?? []
      return `${id},2026-03-02,Testina,Beispielfrau,1970-02-28,FEMALE,00000,${npi},Practice ${npi},${mark === '-' ? 'N' : 'Y'},${mark === '*' ? 'Y' : ''}\n`
    })
    .join('')

const Summary = z.object({
  records: z.object({ careTeam: z.looseObject({ accepted: z.number(), unchanged: z.number() }) }),
  requests: z.looseObject({ sent: z.number() }),
  careTeams: z.object({ removed: z.number(), owed: z.number(), unjudged: z.number() }),
})
const Shown = z.object({ data: z.array(z.looseObject({ npi: z.string(), pcp: z.boolean().optional() })) })
const headers = { 'x-api-key': 'test-key', authorization: 'Bearer test-token' }

async function open(faultOf?: Parameters<typeof startFaultProxy>[1], store?: ReferenceStore) {
  const reference = store ?? (await startReferenceStore())
  const proxy = faultOf && (await startFaultProxy(reference.url, faultOf))
  const environment = proxy && gatewaySettings(proxy.url)
  const clinic = await openClinic({
    ...{ store: reference, mapping: MAPPING, job: JOB },
    ...(environment && { environment }),
  })
  let day = 1
  return {
    clinic,
    store: reference,
    /** Delivers it and runs the job, which reads all exports that were delivered so far. */
    async night(...listed: string[]) {
      await clinic.deliver(`day_202603${String(day++).padStart(2, '0')}.csv`, HEADER + rows(...listed))
      return summaryOf(clinic)
    },
    async shown(id: string): Promise<string[]> {
      const query = `accountReference=${id}&accountReferenceType=partnerAccountId`
      const answered = await fetch(`${reference.url}/health-profile/care-teams?${query}`, { headers })
      const { data } = Shown.parse(await answered.json())
      return data.map(({ npi, pcp }) => npi + (pcp ? '*' : '')).toSorted()
    },
  }
}

async function summaryOf(clinic: Clinic) {
  const { code, out } = await clinic.run()
  return { code, ...Summary.parse(JSON.parse(out)) }
}

describe('a provider whom the export no longer lists', () => {
  test('is deleted, mark and all; listed again, it is sent again; exports that are read again change nothing', async () => {
    const { night, shown, clinic } = await open()
    await night(`ann:${REED}*`, `ann:${LANE}`, `bob:${LANE}`)
    const first = join(clinic.workplace.folder, 'inbox/day_20260301.csv')
    expect(await shown('ann')).toEqual([LANE, `${REED}*`])
    const second = await night(`ann:${LANE}`, `bob:${LANE}`)
    expect(second).toMatchObject({ code: 0, careTeams: { removed: 1, owed: 0, unjudged: 0 } })
    expect([await shown('ann'), await shown('bob')]).toEqual([[LANE], [LANE]])
    // The first night's export still lies there: it says what was, not what is, however often it is read.
    expect(await summaryOf(clinic)).toMatchObject({
      code: 0,
      requests: { sent: 0 },
      careTeams: { removed: 0 },
    })
    for (let again = 0; again < 2; again++) await clinic.run('--file', first)
    expect(await shown('ann')).toEqual([LANE])
    const third = await night(`ann:${REED}*`, `ann:${LANE}`, `bob:${LANE}`)
    expect(third).toMatchObject({
      code: 0,
      records: { careTeam: { accepted: 1 } },
      careTeams: { removed: 0 },
    })
    expect(await shown('ann')).toEqual([LANE, `${REED}*`])
    expect(await summaryOf(clinic)).toMatchObject({ code: 0, requests: { sent: 0 } })
    expect(await shown('ann')).toEqual([LANE, `${REED}*`])
  })

  test('is deleted where a row says that it is not active any more, and nobody is left', async () => {
    const { night, shown } = await open()
    await night(`ann:${REED}*`)
    expect(await night(`ann:${REED}-`)).toMatchObject({ code: 0, careTeams: { removed: 1 } })
    expect(await shown('ann')).toEqual([])
  })

  test('stays where the export has nothing of the person, or not all of the export is read', async () => {
    const { night, shown, clinic } = await open()
    await night(`ann:${REED}`, `ann:${LANE}`)
    expect(await night(`bob:${MOSS}`)).toMatchObject({ code: 0, careTeams: { removed: 0 } })
    const file = await clinic.deliver('part.csv', HEADER + rows(`ann:${LANE}`, `bob:${MOSS}`))
    await clinic.run('--file', file, '--limit', '1')
    expect(await shown('ann')).toEqual([LANE, REED])
  })

  test('stays where the mapping has no care teams any more', async () => {
    const { night, shown, clinic } = await open()
    await night(`ann:${REED}`)
    const file = join(clinic.workplace.folder, 'mappings/clinic.yaml')
    await writeFile(
      file,
      MAPPING.replace(/careTeams:.*/s, 'conditions:\n  asthma: { when: { active: Z }, status: active }\n'),
    )
    expect(await night(`ann:${LANE}`)).toMatchObject({ careTeams: { removed: 0, owed: 0 } })
    expect(await shown('ann')).toEqual([REED])
  })

  test('stays where others have brought it', async () => {
    const { night, shown, store, clinic } = await open()
    await night(`ann:${REED}`, `ann:${LANE}`)
    const account = { reference: 'ann', type: 'partnerAccountId' }
    const source = { name: 'Portal', type: 'manual', meta: { persistentRecordId: 'portal-1' } }
    const theirs = {
      account,
      npi: REED,
      name: 'By hand',
      observationDate: String(Date.UTC(2026, 1, 1)),
      source,
    }
    const put = await fetch(`${store.url}/health-profile/care-teams`, {
      ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
      body: JSON.stringify([theirs]),
    })
    expect(put.status).toBe(200)
    expect(await night(`ann:${LANE}`)).toMatchObject({ careTeams: { removed: 1 } })
    expect(await shown('ann')).toEqual([LANE, REED])
    expect((await summaryOf(clinic)).code).toBe(0)
  })
})

test('where a row cannot be read nothing is taken for missing, and that is told; of one person alone, of that person', async () => {
  const { night, shown, clinic } = await open()
  await night(`ann:${REED}`, `ann:${LANE}`, `bob:${LANE}`, `bob:${MOSS}`)
  await clinic.deliver('day_20260302.csv', `${HEADER}${rows(`ann:${LANE}`, `bob:${LANE}`)}broken\n`)
  expect(await summaryOf(clinic)).toMatchObject({ code: 1, careTeams: { removed: 0, unjudged: 1 } })
  expect((await clinic.workplace.waybill('show', 'latest')).out).toContain(
    'Kept     all care teams: 1 export with unreadable rows may list further providers',
  )
  await clinic.deliver('day_20260302.csv', '')
  // An NPI whose check digit is wrong: it may be anybody.
  await clinic.deliver('day_20260303.csv', HEADER + rows(`ann:${LANE}`, 'ann:1234567890', `bob:${LANE}`))
  expect(await summaryOf(clinic)).toMatchObject({ careTeams: { removed: 1, unjudged: 0 } })
  expect([await shown('ann'), await shown('bob')]).toEqual([[LANE, REED], [LANE]])
})

test('a deletion that the gateway refuses is owed, and done by the next run; not where it is listed again by then', async () => {
  let refuses = false
  const { night, shown, clinic } = await open(({ method }) =>
    refuses && method === 'DELETE' ? answer(400, {}, 'not now') : PASS,
  )
  await night(`ann:${REED}`, `ann:${LANE}`, `bob:${LANE}`, `bob:${MOSS}`)
  refuses = true
  expect(await night(`ann:${LANE}`, `bob:${LANE}`)).toMatchObject({
    ...{ code: 1, careTeams: { removed: 0, owed: 2 } },
  })
  expect(await shown('ann')).toEqual([LANE, REED])
  refuses = false
  expect(await night(`ann:${LANE}`, `bob:${LANE}`, `bob:${MOSS}`)).toMatchObject({
    ...{ code: 0, careTeams: { removed: 1, owed: 0 } },
  })
  expect([await shown('ann'), await shown('bob')]).toEqual([[LANE], [LANE, MOSS].toSorted()])
  expect(await summaryOf(clinic)).toMatchObject({ code: 0, requests: { sent: 0 }, careTeams: { owed: 0 } })
})

test('one that was deleted without an answer, and is listed again, is sent again', async () => {
  let isLost = false
  const { night, shown } = await open(({ method }) =>
    isLost && method === 'DELETE' ? { do: 'pass-then-answer', status: 400 } : PASS,
  )
  await night(`ann:${REED}`, `ann:${LANE}`)
  isLost = true
  expect(await night(`ann:${LANE}`)).toMatchObject({ code: 1, careTeams: { removed: 0, owed: 1 } })
  expect(await shown('ann')).toEqual([LANE])
  const third = await night(`ann:${REED}`, `ann:${LANE}`)
  expect(third).toMatchObject({ code: 0, records: { careTeam: { accepted: 1 } }, careTeams: { owed: 0 } })
  expect(await shown('ann')).toEqual([LANE, REED])
})

test('where the gateway has told no account id, the deletion is owed until the person comes again, with whomever or nobody', async () => {
  const { night, shown, clinic } = await open(({ path }) =>
    path === '/account/register' ? { do: 'pass-then-answer', status: 409 } : PASS,
  )
  await night(`ann:${REED}*`, `bob:${LANE}`)
  const second = await night(`ann:${REED}-`, `bob:${MOSS}`)
  expect(second).toMatchObject({ code: 1, careTeams: { removed: 0, owed: 2 } })
  expect(await summaryOf(clinic)).toMatchObject({ code: 0, careTeams: { removed: 2, owed: 0 } })
  expect([await shown('ann'), await shown('bob')]).toEqual([[], [MOSS]])
})

test('a backfill deletes nothing, and brings back nobody whom the newest export does not list', async () => {
  const { night, shown, clinic } = await open()
  await night(`ann:${REED}`, `ann:${LANE}`)
  await night(`ann:${LANE}`)
  await clinic.deliver('day_20250102.csv', HEADER + rows(`ann:${MOSS}`))
  const ended = await clinic.workplace.waybill(
    'backfill',
    'clinic',
    '--from',
    '2025-01-01',
    '--to',
    '2025-01-31',
  )
  expect(ended).toMatchObject({ out: expect.stringContaining('care-team-outdated') })
  expect(await shown('ann')).toEqual([LANE])
})
