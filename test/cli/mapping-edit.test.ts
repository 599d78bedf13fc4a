import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { dirname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { closedPort } from '../closed-port.ts'
import { openBrowser, photograph } from '../story/report/browser.ts'
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

/** @param written the mapping's text as the page finds it, from that of the project */
async function editing(
  name = 'acme-onsite',
  sample = SAMPLE,
  written?: (text: string) => string,
  options: readonly string[] = [],
): Promise<Editing> {
  const { folder } = await createWorkplace()
  const mappings = join(folder, 'mappings')
  await cp(join(PROJECT, 'mappings'), mappings, { recursive: true })
  const workplace = await createWorkplace({ WAYBILL_MAPPINGS: mappings })
  const file = join(mappings, `${name}.yaml`)
  if (written !== undefined) await writeFile(file, written(await readFile(file, 'utf8')))
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
    ...['mapping', 'edit', name, path, ...options],
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

test('rows are filtered by state, rule and reason of one part, by keyboard, also when the mapping is saved', async () => {
  const absent = `P-3${HEAD.replaceAll(/[^,]/g, '')}\n`.split(',').map((cell, at) => (at === 8 ? 'Y' : cell))
  const { url, change } = await editing('acme-onsite', `${SAMPLE}${absent.join(',')}`)
  const { page, complaints } = await opened(url)
  const shown = async (): Promise<string[]> =>
    (await page.locator('section:visible h2').allInnerTexts()).map((text) => text.slice(0, 'Row 1'.length))
  const told = (): Promise<string | null> => page.locator('#filter output').textContent()
  const select = (name: string) => page.getByRole('combobox', { name })
  expect(await shown()).toEqual(['Row 1', 'Row 2', 'Row 3'])
  expect(await select('state').locator('option').allInnerTexts()).toEqual([
    'all',
    'accepted',
    'left out',
    'rejected',
  ])

  await select('state').focus()
  await page.keyboard.type('rej')
  expect(await select('state').inputValue()).toBe('rejected')
  expect(await shown()).toEqual(['Row 2'])
  expect(await told()).toBe('1 of 3 shown')
  await select('state').selectOption('left out')
  expect(await shown()).toEqual(['Row 3'])
  await select('state').selectOption('')

  await page.keyboard.press('Tab')
  await page.keyboard.type('diastolic')
  expect(await select('rule').inputValue()).toBe('diastolic-bp')
  expect(await shown()).toEqual(['Row 1', 'Row 2'])
  await select('reason').selectOption('value-not-a-number')
  expect(await shown()).toEqual(['Row 2'])
  // Row 2 has an accepted record, and a rejected one of another rule: that is no part of both.
  await select('rule').selectOption('systolic-bp')
  expect(await shown()).toEqual([])
  expect(await told()).toBe('0 of 3 shown')

  await select('rule').selectOption('')
  await change('from: dbp', 'from: pulse')
  await page.locator('.changes').waitFor()
  // What was chosen stays, though no row has the reason any more.
  expect(await select('reason').inputValue()).toBe('value-not-a-number')
  expect(await shown()).toEqual([])
  await select('reason').selectOption('')
  expect(await shown()).toEqual(['Row 1', 'Row 2', 'Row 3'])
  expect(complaints).toEqual([])
})

test('open decisions, errors and rejected rules lead to their lines, and columns that nothing reads are listed', async () => {
  const { url, file, change } = await editing()
  const { page, complaints } = await opened(url)
  expect(await page.locator('#decisions').count()).toBe(0)
  expect(await page.locator('#unread').textContent()).toBe('Unread columns: site, remarks')

  const [before = '', behind] = (await readFile(file, 'utf8')).split('  skipWhen:')
  const lineOf = before.split('\n').length
  expect(behind).toContain('no_show')
  await change(
    '  skipWhen: { no_show: Y }',
    '  ignore: [site]\n  skipWhen: { no_show: Y } # DECIDE: <b>is</b> that so?',
  )
  await page.locator('#decisions').waitFor()
  expect(await page.locator('#unread').textContent()).toBe('Unread columns: remarks')
  expect(await page.locator('#decisions li').allInnerTexts()).toEqual([
    `line ${lineOf + 1} skipWhen: { no_show: Y } # DECIDE: <b>is</b> that so?`,
  ])
  // The text of the mapping is folded away until a line of it is asked for; links are followed by keyboard.
  expect(await page.locator('#mapping pre').isVisible()).toBe(false)
  // The page may follow the save once more, and forget the link.
  await vi.waitFor(async () => {
    await page.locator('#decisions a').focus({ timeout: 2_000 })
    await page.keyboard.press('Enter')
    expect(await page.locator(':target').textContent({ timeout: 2_000 })).toContain('DECIDE: <b>is</b>')
    await page.locator(':target').waitFor({ timeout: 2_000 })
  }, 60_000)

  // The second row: its diastolic pressure is no number.
  const rejected = page.locator('section').nth(1).locator('li a')
  const [above = ''] = (await readFile(file, 'utf8')).split('  diastolic-bp:')
  expect(await rejected.textContent()).toBe(`line ${above.split('\n').length}`)
  await photograph(page, 'mapping-edit-decisions')

  await change('  source:', '  sauce:')
  await page.locator('#problem').waitFor()
  await vi.waitFor(async () => {
    await page.locator('#problem a', { hasText: `line ${lineOf - 1}` }).click({ timeout: 2_000 })
    expect(await page.locator(':target').textContent({ timeout: 2_000 })).toContain('sauce:')
  }, 60_000)
  // What stood open stays so when the page follows a save, and a draft that is broken still has its decisions.
  expect(await page.locator('#mapping pre').isVisible()).toBe(true)
  expect(await page.locator('#decisions li').count()).toBe(1)
  expect(await rejected.count()).toBe(0)
  expect(complaints).toEqual([])
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

test('whoever has not opened the printed address, or comes by another name of this machine, sees nothing', async () => {
  const { url } = await editing()
  const { port, origin } = new URL(url)
  expect(await statusOf(`${origin}/`)).toBe(401)
  expect(await statusOf(`${origin}/events`)).toBe(401)
  expect(await statusOf(`${origin}/enter/${'0'.repeat(32)}`)).toBe(403)
  expect(await statusOf(url, { host: `evil.example:${port}` })).toBe(421)
  expect(await statusOf(url)).toBe(303)
  // The address opens one session.
  expect(await statusOf(url)).toBe(403)
})

test('a mapping that cannot be used is what the page is for; an export that is not there is told at once', async () => {
  const { folder, waybill } = await createWorkplace()
  expect(await waybill('mapping', 'edit', 'acme-onsite', join(folder, 'none.csv'))).toMatchObject({ code: 2 })
  expect(await waybill('mapping', 'edit', 'none', join(folder, 'none.csv'))).toMatchObject({ code: 2 })
  const { url } = await editing('acme-onsite', SAMPLE.replace('sbp', 'systolic'))
  const { page } = await opened(url)
  expect(await page.locator('#problem').textContent()).toContain('sbp')
})

test('begins with a mapping that cannot be used, and shows the rows once it can', async () => {
  const { url, change, end } = await editing('acme-onsite', SAMPLE, (text) =>
    text.replace('biometrics:', 'biometric:'),
  )
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(url)
  await page.getByText('biometric', { exact: false }).first().waitFor()
  expect(await page.getByText('P-1').count()).toBe(0)
  await change('biometric:', 'biometrics:')
  await page.getByText('P-1').first().waitFor()
  expect(await end()).toBe(0)
})

test('of a mapping that is not there it says so, and opens no page', async () => {
  const { folder, waybill } = await createWorkplace()
  await writeFile(join(folder, 'e.csv'), SAMPLE)
  const { code, err } = await waybill('mapping', 'edit', 'nobodys', 'e.csv')
  expect([code, err]).toEqual([2, expect.stringContaining('mapping-not-found')])
})

/** The page by its address alone, and what it is sent when something is saved. */
async function followed(url: string) {
  const { origin } = new URL(url)
  const entered = await fetch(url, { redirect: 'manual' })
  const headers = { cookie: (entered.headers.get('set-cookie') ?? '').replace(/;.*/, '') }
  const page = await (await fetch(origin, { headers })).text()
  const events = await fetch(`${origin}/events`, { headers, signal: AbortSignal.timeout(30_000) })
  const pieces = events.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  /** Reads on until the page as it was sent last is that which is waited for. */
  const until = async (isIt: (page: string) => boolean): Promise<string> => {
    for (;;) {
      const [first = '', ...others] = text.split('\n\n')
      if (others.length > 0) {
        text = others.join('\n\n')
        const [, data] = /^data: (.*)$/.exec(first) ?? []
        const sent = data === undefined ? undefined : z.string().parse(JSON.parse(data))
        if (sent !== undefined && isIt(sent)) return sent
        continue
      }
      const piece = await pieces?.read()
      if (piece?.value === undefined) expect.fail('the events have ended')
      text += piece.value
    }
  }
  return { page, until }
}

test('a page has as many rows as asked for, and as many of the others that have something rejected', async () => {
  const [head = '', good = '', bad = ''] = SAMPLE.split('\n')
  const rows = [good, bad, good, bad, bad, good, bad, bad].map((row, at) =>
    row.replace(/^P-./, `P-${at + 1}`),
  )
  const port = await closedPort()
  const options = ['--limit', '2', '--port', `${port}`]
  const ignoring = (text: string) => text.replace('  skipWhen:', '  ignore: [site, remarks]\n  skipWhen:')
  const { url } = await editing('acme-onsite', [head, ...rows, ''].join('\n'), ignoring, options)
  expect(new URL(url).port).toBe(`${port}`)
  const { page } = await followed(url)
  // The first two rows, and two more of those with a pressure that is no number.
  expect(page.match(/P-\d\|/g)).toEqual(['P-1|', 'P-2|', 'P-4|', 'P-5|'])
  expect(page).not.toContain('Unread columns')
})

test('a page keeps the changes of a save that is reported again, and follows the catalog, also a broken one', async () => {
  const { url, file, change } = await editing()
  const { until } = await followed(url)
  const hasProblem = (sent: string): boolean => sent.includes('id="problem"')
  const hasChanges = (sent: string): boolean => sent.includes('2 of the 2 rows')
  await change('sbp', 'pulse')
  await until(hasChanges)
  await writeFile(file, await readFile(file, 'utf8'))
  expect(hasChanges(await until((sent) => !hasProblem(sent)))).toBe(true)
  const catalog = join(dirname(file), 'catalog/biometrics.yaml')
  const text = await readFile(catalog, 'utf8')
  await writeFile(catalog, `${text}\nbroken: [`)
  await until(hasProblem)
  await writeFile(catalog, text)
  expect(hasChanges(await until((sent) => !hasProblem(sent)))).toBe(true)
})
