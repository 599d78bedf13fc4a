import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reportPage } from '../../../src/story/report/report-page.ts'
import { layoutOf, openBrowser, openPage, PHOTOGRAPHS, photograph } from './browser.ts'
import { CONTEXT, REPORTS } from './sample-reports.ts'

let browser: Browser
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-report-'))
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await rm(folder, { recursive: true, force: true })
})

const fileName = (name: string): string => name.replaceAll(' ', '-')

async function written(name: string): Promise<string> {
  const facts = REPORTS[name]
  if (facts === undefined) throw new Error(`there is no sample ${name}`)
  const file = join(folder, `${fileName(name)}.html`)
  await writeFile(file, reportPage(facts, CONTEXT))
  return file
}

describe.each(Object.keys(REPORTS))('the report of a run: %s', (name) => {
  test('fits windows of every width, and asks for nothing', async () => {
    const file = await written(name)
    const { page, complaints } = await openPage(browser, file)
    for (const width of [360, 800, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      const { excess, collisions } = await layoutOf(page)
      expect({ width, excess, collisions }).toEqual({ width, excess: 0, collisions: [] })
    }
    await photograph(page, fileName(name))
    expect(complaints).toEqual([])
    await page.close()
  })
})

describe('the report of a night', () => {
  test('in the dark, on a telephone, and on paper', async () => {
    const { page, complaints } = await openPage(browser, await written('night'))
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await ground()).not.toBe(light)
    await photograph(page, 'night-dark')
    // Paper is white, whatever the screen is.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await ground()).toBe(light)
    await page.pdf({ path: join(PHOTOGRAPHS, 'night.pdf'), format: 'A4', printBackground: true })
    await page.setViewportSize({ width: 794, height: 1123 })
    await photograph(page, 'night-paper')
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
    await page.setViewportSize({ width: 360, height: 800 })
    await photograph(page, 'night-narrow')
    expect(complaints).toEqual([])
    await page.close()
  })

  test('on a telephone what was accepted and rejected stands on the first screen, what differs is not squeezed, and the contents lead to each part', async () => {
    const { page } = await openPage(browser, await written('night'))
    await page.setViewportSize({ width: 360, height: 640 })
    const item = page.locator('.outcomes li')
    expect(await item.allInnerTexts()).toEqual([
      ...['71,984\n✓ records accepted', '140\n= records unchanged'],
      ...['115\n× records rejected', '22\n× rows rejected'],
    ])
    const box = await item.last().boundingBox()
    expect((box?.y ?? Number.NaN) + (box?.height ?? 0)).toBeLessThan(640)
    const differs = await page.locator('.drift td:last-child').first().boundingBox()
    expect(differs?.width).toBeGreaterThan(250)
    const links = page.locator('nav a')
    expect(await links.count()).toBeGreaterThan(5)
    for (const link of await links.all()) {
      await page.evaluate('scrollTo(0, 0)')
      await link.click()
      await page.waitForFunction('scrollY > 0')
      const part = page.locator(`section${await link.getAttribute('href')}`)
      const place = await part.boundingBox()
      expect(place?.y).toBeLessThan(640)
    }
    await page.close()
  })

  test.each([360, 1280])('leads from a reason to what it means, %i pixels wide', async (width) => {
    const { page, complaints } = await openPage(browser, await written('night'), width)
    const link = page.locator('#reasons table a').first()
    await link.click()
    const meaning = page.locator(`.meanings dt[id="${(await link.getAttribute('href'))?.slice(1)}"]`)
    expect(await meaning.textContent()).toBe(await link.textContent())
    const box = await meaning.boundingBox()
    expect(box?.y).toBeGreaterThanOrEqual(0)
    expect(box?.y).toBeLessThan(800)
    await photograph(page, `night-reason-${width}`)
    expect(complaints).toEqual([])
    await page.close()
  })

  test('shows the same counts wide and narrow', async () => {
    const { page } = await openPage(browser, await written('night'))
    const shown = async (width: number): Promise<Set<string>> => {
      await page.setViewportSize({ width, height: 800 })
      const { texts } = await layoutOf(page)
      return new Set(texts.filter((text) => /[a-z] [\d,]+$/.test(text)))
    }
    const wide = await shown(1280)
    expect(wide).toContain('✓ accepted 71,984')
    expect(await shown(360)).toEqual(wide)
    await page.close()
  })
})

describe('hundreds of exports', () => {
  test('on a telephone: names keep their dates whole, labels have a ground', async () => {
    const { page } = await openPage(browser, await written('a backfill'), 360)
    const heights = await page.evaluate(
      `[...document.querySelectorAll('.whole')].map((one) => one.getClientRects().length)`,
    )
    expect(
      new Set(
        z
          .array(z.number())
          .parse(heights)
          .filter((count) => count > 0),
      ),
    ).toEqual(new Set([1]))
    const labels =
      await page.evaluate(`[...document.querySelectorAll('.narrow svg.flow .ground')].map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect()
      return [...one.parentNode.querySelectorAll('text')].some((text) => {
        const box = text.getBoundingClientRect()
        return box.left >= left - 1 && box.right <= right + 1 && box.top >= top - 1 && box.bottom <= bottom + 1
      })
    })`)
    // Rows read; biometrics, conditions and care teams.
    expect(labels).toEqual([true, true, true, true])
    await photograph(page, 'a-backfill-narrow')
    await page.close()
  })
})

describe('ninety exports', () => {
  test('are folded on screens, and all there on paper', async () => {
    const { page } = await openPage(browser, await written('ninety exports'))
    const seen = async (): Promise<number> => {
      const boxes = await page.locator('#exports tbody th').all()
      return (await Promise.all(boxes.map((one) => one.isVisible()))).filter(Boolean).length
    }
    expect(await seen()).toBe(12)
    await page.emulateMedia({ media: 'print' })
    expect(await seen()).toBe(90)
    await page.close()
  })
})
