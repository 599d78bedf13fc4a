import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { JOB as CLINIC_JOB, openClinic } from '../cli/clinic.ts'
import { ended } from '../cli/command-line.ts'
import { delivery } from '../cli/nights.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { layoutOf, openBrowser, photograph } from '../story/report/browser.ts'
import { deliver, openInstallation, type Served, serve } from './console-under-test.ts'
import { openWeek, UNREAD_DAY } from './week.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

interface Opened {
  readonly page: Page
  readonly complaints: string[]
}

async function opened(
  served: Served,
  width = 1280,
  colorScheme: 'light' | 'dark' = 'light',
  media: 'screen' | 'print' = 'screen',
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.emulateMedia({ media })
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(served.addresses.at(-1) ?? '')
  return { page, complaints }
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }))

/** What axe-core finds wrong, by WCAG 2.2 AA and its own good practice. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'))
  const found = await page.evaluate(
    `axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations)`,
  )
  return Violations.parse(found).flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
}

/** axe-core finds nothing, and nothing is wider than the window. Leaves a picture. */
async function expectSound(page: Page, url: string, width: number, what: string): Promise<void> {
  await page.setViewportSize({ width, height: 900 })
  await page.goto(url)
  expect.soft(await faultsOf(page), what).toEqual([])
  const { excess, collisions } = await layoutOf(page)
  expect.soft({ what, excess, collisions }).toEqual({ what, excess: 0, collisions: [] })
  await photograph(page, `console-${what}`)
}

/** A browser takes seconds for each look; `npm run pictures` tries the others, too. */
const LOOKS = [
  ['wide', 1280, 'light'],
  ['narrow-dark', 390, 'dark'],
  ...(process.env['WAYBILL_LOOKS'] === 'all'
    ? ([
        ['narrow', 390, 'light'],
        ['dark', 1280, 'dark'],
        ['print', 1000, 'light'],
      ] as const)
    : []),
] as const

test.each(LOOKS)(
  'each page is sound: %s',
  async (name, width, scheme) => {
    const { workplace, run } = await openInstallation({ WAYBILL_LOG_FILE: 'log' })
    const served = await serve(workplace, ['--health-data'])
    const { page, complaints } = await opened(served, width, scheme, name === 'print' ? 'print' : 'screen')
    const show = JSON.parse((await workplace.waybill('show', run, '--json')).out)
    const code = z.object({ reasons: z.array(z.object({ code: z.string() })) }).parse(show).reasons[0]?.code
    const [row] = JSON.parse(
      z
        .string()
        .parse(await page.evaluate(`fetch('/runs/${run}/reasons/${code}?json').then((one) => one.text())`)),
    ).rows
    const pages = {
      morning: '/',
      run: `/runs/${run}`,
      reason: `/runs/${run}/reasons/${code}`,
      values: `/runs/${run}/reasons/${code}/values`,
      log: `/runs/${run}/log`,
      trace: `/trace?row=${encodeURIComponent(`${row.export}:${row.row}`)}`,
      'in-doubt': '/in-doubt',
      exports: '/exports',
      backfill: '/backfill?job=nightly&from=2026-02-01&to=2026-03-10',
      mappings: '/mappings',
      mapping: '/mappings/acme-onsite',
      schedule: '/schedule',
      system: '/system',
      action: `/do/acknowledge?run=${run}`,
      'action-on-several': '/do/rerun',
      'action-with-options': '/do/run?job=nightly&acceptDrift=yes&limit=100',
      missing: '/runs/none',
    }
    for (const [what, path] of Object.entries(pages))
      await expectSound(page, served.base + path, width, `${what}-${name}`)
    // The browser says that a page was not found.
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([])
  },
  120_000,
)

test.each(LOOKS)(
  'pages after a week are sound: %s',
  async (name, width, scheme) => {
    const { workplace, doubtful } = await openWeek()
    await workplace.waybill('acknowledge', '--job', 'clinic', '--by', 'olga', '--note', 'the vendor knows')
    await workplace.waybill('pause', 'clinic', '--until', '2h', '--by', 'olga')
    const served = await serve(workplace, ['--health-data'])
    const { page, complaints } = await opened(served, width, scheme, name === 'print' ? 'print' : 'screen')
    const pages = {
      morning: '/',
      run: `/runs/${doubtful}`,
      schedule: '/schedule',
      system: '/system',
      'in-doubt': '/in-doubt',
      exports: '/exports',
      backfill: `/backfill?job=clinic&from=2026-02-10&to=${UNREAD_DAY}`,
      mapping: '/mappings/clinic',
    }
    for (const [what, path] of Object.entries(pages))
      await expectSound(page, served.base + path, width, `${what}-of-a-week-${name}`)
    await page.goto(`${served.base}/mappings/clinic`)
    const rows = await page.getAttribute('text=Rows as records', 'href')
    await expectSound(page, served.base + rows, width, `rows-of-a-week-${name}`)
    expect(complaints).toEqual([])
  },
  120_000,
)

test('the keyboard alone reaches every link, field and button of each page', async () => {
  const { workplace, doubtful } = await openWeek()
  const served = await serve(workplace, ['--health-data'])
  const { page } = await opened(served)
  const pages = [
    ...[
      '/',
      `/runs/${doubtful}`,
      '/in-doubt',
      '/exports',
      '/mappings',
      '/mappings/clinic',
      '/trace',
      '/schedule',
      '/system',
    ],
    `/backfill?job=clinic&from=2026-03-01&to=${UNREAD_DAY}`,
    ...['accept', 'resend', 'reconcile', 'rerun', 'acknowledge'].map(
      (action) => `/do/${action}?run=${doubtful}`,
    ),
    ...['run', 'count', 'resume', 'pause', 'unpause', 'notify', 'expect'].map(
      (action) => `/do/${action}?job=clinic`,
    ),
    ...['rerun', 'reconcile', 'acknowledge'].map((action) => `/do/${action}`),
    '/do/put-aside?job=clinic&export=x.csv',
    '/do/put-back?job=clinic&export=x.csv',
    `/do/undo-acknowledge?run=${doubtful}`,
    `/do/give-up?run=${doubtful}`,
    `/do/stop?run=${doubtful}`,
    `/do/backfill?job=clinic&from=2026-03-01&to=${UNREAD_DAY}`,
  ]
  for (const path of pages) {
    await page.goto(served.base + path)
    // Numbers each element that a mouse can use, and is seen.
    const count = z.number().parse(
      await page.evaluate(`[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')]
        .filter((one) => one.checkVisibility({ contentVisibilityAuto: true }) && one.getClientRects().length > 0)
        .map((one, at) => { one.dataset.at = at }).length`),
    )
    const reached = new Set<string>()
    // A date has several parts, and tables that scroll take the focus, too.
    for (let at = 0; at < 2 * count + 40; at++) {
      await page.keyboard.press('Tab')
      const [at_, outline] = z
        .tuple([z.string(), z.string()])
        .parse(
          await page.evaluate(
            `[document.activeElement.dataset.at ?? '', getComputedStyle(document.activeElement).outlineStyle]`,
          ),
        )
      if (at_ === '') continue
      expect({ path, at_, outline }).toEqual({ path, at_, outline: expect.not.stringMatching('none') })
      reached.add(at_)
      if (reached.size === count) break
    }
    expect({ path, reached: reached.size }).toEqual({ path, reached: count })
  }
})

test('times show in UTC, or in the zone of the browser; paper has no bar, and folds nothing', async () => {
  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const context = await browser.newContext({ timezoneId: 'Asia/Kolkata' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(served.addresses.at(-1) ?? '')
  const since = page.locator('.need time').first()
  const at = new Date((await since.getAttribute('datetime')) ?? '')
  expect(await since.textContent()).toContain(`${at.toISOString().slice(11, 19)} UTC`)
  await page.click('#zone')
  // India is five and a half hours ahead of UTC.
  const local = new Date(at.getTime() + 5.5 * 3_600_000).toISOString()
  expect(await since.textContent()).toBe(`${local.slice(0, 10)} ${local.slice(11, 19)} local`)
  await page.reload()
  expect(await page.locator('.need time').first().textContent()).toContain('local')
  await page.click('#zone')
  expect(await page.locator('.need time').first().textContent()).toContain('UTC')

  await page.click('a.night')
  await page.emulateMedia({ media: 'print' })
  expect(await page.locator('header.bar').isVisible()).toBe(false)
  expect(await page.locator('details.numbers table').first().isVisible()).toBe(true)
  await photograph(page, 'console-run-print')
})

test('the keyboard alone reaches an action and does it', async () => {
  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const { page } = await opened(served)
  const focused = () => page.evaluate('document.activeElement.textContent')
  const tabTo = async (words: RegExp): Promise<void> => {
    for (let at = 0; at < 60; at++) {
      await page.keyboard.press('Tab')
      if (words.test(z.string().parse(await focused()))) return
    }
    throw new Error(`the keyboard does not reach ${words}`)
  }
  await tabTo(/^Skip/)
  await page.keyboard.press('Enter')
  await tabTo(/^Acknowledge /)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/do/acknowledge**')
  await tabTo(/^Acknowledge /)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${served.base}/`)
  expect(await page.textContent('[role=status] >> text=Acknowledged')).toContain('Acknowledged: 1 run')
  expect(await page.textContent('h1')).toBe('Nothing needs you: 1 job')
})

test('a run of another process shows without a reload, and so does what another browser does', async () => {
  const { workplace } = await openInstallation()
  const served = await serve(workplace)
  const first = await opened(served)
  const second = await opened(served)
  await second.page.goto(`${served.base}/schedule`)
  const rows = (page: Page) => page.locator('a.night').count()
  expect(await rows(first.page)).toBe(1)
  await first.page.evaluate('document.body.dataset.same = "yes"')
  await deliver(workplace, 'acme_20260205.csv', 'Q')
  const { code } = await ended(workplace.start('run', 'nightly', '--json', '--quiet'))
  expect(code).toBe(1)
  await first.page.waitForSelector('a.night[title*="the worst of 2 runs"]')
  expect(await first.page.evaluate('document.body.dataset.same')).toBe('yes')
  // One browser acts, and the other shows it.
  await first.page.goto(`${served.base}/do/pause?job=nightly`)
  await first.page.click('button.does')
  await second.page.waitForSelector('text=Paused by')
})

/** A nightly run in a process of its own, held at its third batch. */
async function heldNight() {
  let batches = 0
  const hold = Promise.withResolvers<void>()
  const clinic = await openClinic({
    job: `${CLINIC_JOB}submit: { concurrency: 1, readLag: 100ms }\n`,
    async faultOf({ method }) {
      if (method === 'POST' && ++batches >= 3) await hold.promise
      return PASS
    },
  })
  await clinic.deliver('day.csv', delivery('p', 2_000))
  return {
    workplace: clinic.workplace,
    /** The run has not ended yet. */
    async begin() {
      const running = ended(clinic.workplace.start('run', 'clinic', '--json', '--quiet'))
      await vi.waitFor(() => expect(batches).toBeGreaterThanOrEqual(3), 60_000)
      return { running }
    },
    release: () => hold.resolve(),
  }
}

test('two browsers and a nightly run at once: what one does the others show without a reload', async () => {
  const night = await heldNight()
  const served = await serve(night.workplace)
  const first = await opened(served)
  const second = await opened(served)
  const mark = ({ page }: Opened) => page.evaluate('document.body.dataset.same = "yes"')
  const isSame = ({ page }: Opened) => page.evaluate('document.body.dataset.same')
  await mark(first)
  await mark(second)
  const { running } = await night.begin()
  for (const { page } of [first, second]) await page.waitForSelector('#under-way a')
  expect([await isSame(first), await isSame(second)]).toEqual(['yes', 'yes'])

  // The second follows the run; the first stops it.
  await second.page.click('#under-way a')
  await second.page.waitForSelector('.verdict >> text=Under way')
  await mark(second)
  await first.page.click('#under-way a')
  await first.page.click('text=Stop')
  await first.page.click('button.does')
  // The answer comes while the run still waits for the gateway.
  await first.page.waitForURL('**/runs/**')
  night.release()
  for (const { page } of [first, second]) await page.waitForSelector('.verdict >> text=Interrupted')
  expect(await isSame(second)).toBe('yes')
  expect((await running).code).toBe(130)
  // The second resumes it, and the first shows its end.
  await mark(first)
  await second.page.click('text=Resume clinic')
  await second.page.click('button.does')
  await first.page.waitForSelector('.verdict >> text=Finished')
  expect(await isSame(first)).toBe('yes')
})

test('the page of a run under way follows it to its end', async () => {
  const night = await heldNight()
  const { running } = await night.begin()
  const { page } = await opened(await serve(night.workplace))
  await page.click('#under-way a')
  expect(await page.textContent('.verdict')).toContain('Under way')
  await page.click('summary >> nth=0')
  night.release()
  expect((await running).code).toBe(0)
  await page.waitForSelector('.verdict >> text=Finished')
  expect(await page.textContent('#balance .numbers')).toContain('rows read2,000')
  // What a reader has unfolded stays so.
  expect(await page.getAttribute('#balance details', 'open')).toBe('')
})
