/** A browser without a network but that of the machine itself, one for all pages, and what it sees of a page. */
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as driver, type Page } from 'playwright-core'
import { z } from 'zod'

/** Photographs go here; git ignores it. */
export const PHOTOGRAPHS = resolve(import.meta.dirname, '../../test-output/report')

/** A machine that has other things to do takes many times as long. */
const PATIENCE_MS = 120_000

export async function openBrowser(): Promise<Browser> {
  await mkdir(PHOTOGRAPHS, { recursive: true })
  const browser = await driver.launch({
    timeout: PATIENCE_MS,
    executablePath: await chromium.executablePath(),
    headless: true,
    args: [
      // It opens pages of our own alone, also where tests are run by root.
      '--no-sandbox',
      // Drawing in a process of its own fails now and then where there is no graphics card.
      '--in-process-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS))
  return browser
}

export interface Opened {
  readonly page: Page
  /** What the browser complained of, and what it asked for beyond the file itself. */
  readonly complaints: string[]
}

/** @param file path of an HTML file */
export async function openPage(browser: Browser, file: string, width = 1280): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width, height: 800 } })
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    if (request.url() !== `file://${file}`) complaints.push(`asked for ${request.url()}`)
  })
  await page.goto(`file://${file}`)
  return { page, complaints }
}

/** The whole page, for `npm run pictures` alone. The window is made as high as that and drawn first: the browser may fail where it has to draw more than it shows. */
export async function photograph(page: Page, name: string): Promise<void> {
  if (process.env['WAYBILL_LOOKS'] !== 'all') return
  const { width = 1280 } = page.viewportSize() ?? {}
  const height = z.number().parse(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({ width, height })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.screenshot({ path: join(PHOTOGRAPHS, `${name}.png`) })
}

const Layout = z.object({
  /** Pixels by which the page is wider than the window. */
  excess: z.number(),
  /** Texts of a picture that lie upon each other, reach out of it, or are too small. */
  collisions: z.array(z.string()),
  /** Texts of pictures that can be seen. */
  texts: z.array(z.string()),
})

// Text, as it runs in the page: the project has no types of a browser.
const LOOK = `(() => {
  const collisions = []
  const texts = []
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect()
    const seen = [...svg.querySelectorAll('text')]
      .map((element) => ({ text: element.textContent, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0)
    for (const [at, { text, box }] of seen.entries()) {
      texts.push(text)
      if (box.height < 11) collisions.push(text + ' is too small to be read')
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        collisions.push(text + ' reaches out')
      for (const other of seen.slice(at + 1))
        if (box.left < other.box.right && other.box.left < box.right && box.top < other.box.bottom - 2 && other.box.top < box.bottom - 2)
          collisions.push(text + ' lies on ' + other.text)
    }
  }
  return { excess: document.documentElement.scrollWidth - innerWidth, collisions, texts }
})()`

export const layoutOf = async (page: Page): Promise<z.infer<typeof Layout>> =>
  Layout.parse(await page.evaluate(LOOK))
