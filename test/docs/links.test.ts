import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PAGES, PROJECT, page } from './pages.ts'

/** Anchor of a heading, as code hosts make it: lower case, without punctuation, hyphens for spaces. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (path: string): string[] =>
  [...page(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchor(heading))

const withoutBlocks = (text: string): string => text.replaceAll(/^```.*?^```/gms, '')

describe.each(PAGES)('%s', (path) => {
  const text = withoutBlocks(page(path))

  it('links to files and headings that exist', () => {
    const dead = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
      if (/^[a-z]+:/.test(target)) return []
      const [file = '', heading] = target.split('#')
      const found = file === '' ? path : join(dirname(path), file)
      if (!existsSync(join(PROJECT, found))) return [target]
      return heading === undefined || anchorsOf(found).includes(heading) ? [] : [target]
    })
    expect(dead).toEqual([])
  })

  it('names files and folders that exist', () => {
    const named = [
      ...text.matchAll(
        /`((?:src|packages|test|samples|jobs|mappings|bin|docs)\/[^`\s]*|[\w.-]+\.(?:md|cjs))`/g,
      ),
    ]
    const gone = named.flatMap(([, name = '']) =>
      /[*<…]/.test(name) || existsSync(join(PROJECT, name)) ? [] : [name],
    )
    expect(gone).toEqual([])
  })
})

describe('the decisions', () => {
  const pages = PAGES.filter((path) => path.startsWith('docs/decisions/'))

  it('have a number of their own each, and say context and decision', () => {
    const numbers = pages.map((path) => Number(/\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1]))
    expect(new Set(numbers).size).toBe(pages.length)
    for (const [at, path] of pages.entries()) {
      const number = numbers[at]
      expect(page(path)).toMatch(
        new RegExp(`^# ${number}\\. .*\\*\\*Context\\.\\*\\* .*\\*\\*Decision\\.\\*\\* `, 's'),
      )
    }
    expect(pages.length).toBeGreaterThan(0)
  })
})
