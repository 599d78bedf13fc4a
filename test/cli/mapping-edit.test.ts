import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser, photograph } from '../report/browser.ts'
import { createWorkplace, PROJECT } from './command-line.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

const HEAD =
  'participant_id,first_name,last_name,dob,gender,zip,screened_at,site,no_show,fasting,sbp,dbp,pulse,height_in,weight_lb,bmi,waist_in,tc,hdl,ldl,trig,glucose,a1c,tobacco,dx_diabetes,dx_hypertension,dx_asthma,pcp_name,pcp_npi,pcp_phone,remarks'
const SAMPLE = `${HEAD}
P-1,Ann,Reed,1979-04-12,F,04884,02/04/2026 09:10,A,N,Y,126,76,81,63.9,158.5,27.3,38.7,196,55,129,60,100,5.7,Y,N,N,N,Dr. Alder,2515070102,,
P-2,<b>Ben</b>,Moor,1990-10-01,M,01001,02/04/2026 09:20,A,N,Y,118,high,,,160,,,,,,,,,N,N,N,N,,,,
`

interface Editing {
  readonly url: string
  readonly file: string
  readonly change: (from: string | RegExp, to: string) => Promise<void>
  readonly end: () => Promise<number | null>
}

async function editing(name = 'acme-onsite', sample = SAMPLE): Promise<Editing> {
  const { folder } = await createWorkplace()
  const mappings = join(folder, 'mappings')
  await cp(join(PROJECT, 'mappings'), mappings, { recursive: true })
  const workplace = await createWorkplace({ WAYBILL_MAPPINGS: mappings })
  const file = join(mappings, `${name}.yaml`)
  const path = join(workplace.folder, name.includes('redox') ? 'e.json' : 'e.csv')
  await writeFile(path, sample)
  const interrupt = new AbortController()
  const { promise: printed, resolve: print } = Promise.withResolvers<string>()
  const running = workplace.waybillWith(
    (context) => ({
      ...context,
      interrupt: interrupt.signal,
      out: (lines) => print([lines].flat().join('\n')),
    }),
    ...['mapping', 'edit', name, path],
  )
  const end = async (): Promise<number | null> => {
    interrupt.abort()
    return (await running).code
  }
  onTestFinished(() => end().then(() => undefined))
  const said = await Promise.race([printed, running.then(({ err }) => Promise.reject(new Error(err)))])
  return {
    url: /http:\S+/.exec(said)?.[0] ?? '',
    file,
    // As many editors do: another file takes the place of the old one.
    async change(from, to) {
      const text = await readFile(file, 'utf8')
      expect(text).toMatch(from)
      await writeFile(`${file}.tmp`, text.replace(from, to))
      await copyFile(`${file}.tmp`, file)
    },
    end,
  }
}

async function opened(url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(url)
  onTestFinished(() => page.close())
  return { page, complaints }
}

const lit = (page: Page): Promise<string[]> => page.locator('.lit').allInnerTexts()

test('a page shows rows as records, links them, and follows the mapping as it is saved', async () => {
  const { url, change, end } = await editing()
  const { page, complaints } = await opened(url)

  const first = page.locator('section').first()
  expect(await first.locator('.about dd').allInnerTexts()).toEqual([
    'P-1|02/04/2026 09:10',
    'partnerAccountId P-1',
    expect.stringContaining('1979-04-12'),
  ])
  expect(await page.locator('#fit').textContent()).toContain('systolic-bp')
  // What an export holds is text, whatever it looks like.
  expect(await page.locator('section b', { hasText: 'Ben' }).count()).toBe(0)

  await first.locator('tr', { hasText: 'systolic-bp' }).hover()
  expect(await lit(page)).toEqual(expect.arrayContaining(['sbp', '126', 'screened_at']))
  expect(await lit(page)).not.toContain('76')
  await first.locator('dd[data-name=dbp]').hover()
  expect((await lit(page)).join()).toContain('diastolic-bp')
  expect((await lit(page)).join()).not.toContain('systolic-bp\t126')

  await page.locator('#only').check()
  expect(await page.locator('section:visible h2').allInnerTexts()).toEqual(['Row 2 line 3, mapped'])
  await page.locator('#only').uncheck()

  await change('sbp', 'pulse')
  await page.locator('.changes').waitFor()
  expect(await page.locator('.changes').textContent()).toMatch(/2 of the 2 rows.* differ/)
  expect((await page.locator('tr.new').allInnerTexts()).join()).toContain('81 mm[Hg]')
  expect((await page.locator('tr.gone').allInnerTexts()).join()).toContain('126 mm[Hg]')
  await photograph(page, 'mapping-edit')

  await change('biometrics:', 'biometrcs:')
  await page.locator('#problem').waitFor()
  expect(await page.locator('#problem').textContent()).toContain(
    'unknown key "biometrcs"; did you mean "biometrics"?',
  )
  expect(await page.locator('section').count()).toBe(2)
  await change('biometrcs:', 'biometrics:')
  await page.locator('#problem').waitFor({ state: 'detached' })
  expect(complaints).toEqual([])

  expect(await end()).toBe(0)
  await page.locator('#ended').waitFor()
})

test('rows of JSON are linked by the last member of a path', async () => {
  const text = await readFile(join(PROJECT, 'samples/inbox/northlab_oru_20260302.ndjson'), 'utf8')
  const { url } = await editing('northlab-oru', text)
  const { page, complaints } = await opened(url)
  expect(await page.locator('section').count()).toBeGreaterThan(2)
  await page.locator('section').first().locator('tbody tr').first().hover()
  expect((await lit(page)).length).toBeGreaterThan(1)
  expect(complaints).toEqual([])
})

const statusOf = (url: string, headers: Record<string, string> = {}): Promise<number | undefined> =>
  new Promise((done, fail) => {
    get(url, { headers }, (response) => {
      response.destroy()
      done(response.statusCode)
    }).on('error', fail)
  })

test('who does not know the address, or comes by another name of this machine, sees nothing', async () => {
  const { url } = await editing()
  expect(await statusOf(url)).toBe(200)
  const { port, origin } = new URL(url)
  expect(await statusOf(`${origin}/`)).toBe(404)
  expect(await statusOf(`${origin}/${'0'.repeat(32)}/events`)).toBe(404)
  expect(await statusOf(url, { host: `evil.example:${port}` })).toBe(404)
})

test('a mapping that cannot be used is what the page is for; an export that is not there is told at once', async () => {
  const { folder, waybill } = await createWorkplace()
  expect(await waybill('mapping', 'edit', 'acme-onsite', join(folder, 'none.csv'))).toMatchObject({ code: 2 })
  expect(await waybill('mapping', 'edit', 'none', join(folder, 'none.csv'))).toMatchObject({ code: 2 })
  const { url } = await editing('acme-onsite', SAMPLE.replace('sbp', 'systolic'))
  const { page } = await opened(url)
  expect(await page.locator('#problem').textContent()).toContain('sbp')
})
