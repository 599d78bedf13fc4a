import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../src/model/errors.ts'
import { PAGES, page } from './pages.ts'
import { namedIn, problemWith, typedIn } from './typed-commands.ts'

const problems = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => problemWith(line)?.concat(`: ${line}`) ?? [])

/** Text may name an option, or a command by its name alone, or no command at all (`waybill …`). */
const isWhole = (line: string): boolean => !/ --[a-z-]+$|…/.test(line) && line.includes(' --')

describe('commands that are told', () => {
  it.each(PAGES)('%s', (path) => {
    const text = page(path)
    expect(problems(typedIn(text))).toEqual([])
    expect(problems(namedIn(text).filter(isWhole))).toEqual([])
    const named = namedIn(text).filter((line) => !line.includes('…'))
    expect(problems(named).filter((problem) => problem.startsWith('there is no'))).toEqual([])
  })

  it('by errors', () => {
    const told = Object.values(ERROR_CODES).flatMap(({ remedy }) => namedIn(remedy))
    expect(told.length).toBeGreaterThan(5)
    expect(problems(told)).toEqual([])
  })
})
