import { describe, expect, it } from 'vitest'
import { ERROR_CODES, EXIT } from '../../src/model/errors.ts'
import { page, sections } from './pages.ts'
import { namedIn, problemWith, typedIn } from './typed-commands.ts'

const text = page('docs/runbook.md')

/** Every command that the page tells to type. */
const typed = [...typedIn(text), ...namedIn(text)]

describe('docs/runbook.md', () => {
  it('tells commands that can be typed, with their options', () => {
    expect(typed.length).toBeGreaterThan(40)
    expect(typed.flatMap((line) => problemWith(line)?.concat(`: ${line}`) ?? [])).toEqual([])
  })

  it.each([
    ['waybill rum JOB', 'there is no command rum'],
    ['waybill run JOB --fast', 'there is no option --fast'],
    ['waybill show RUN RUN', 'one argument too many'],
    ['waybill runs --limit', '--limit needs a value'],
    ['waybill prune --dry-run', '--older-than is missing'],
    ['waybill mapping diff OLD NEW', 'an argument is missing'],
  ])('would not tell %s', (line, problem) => {
    expect(problemWith(line)).toContain(problem)
  })

  it('has a section for each exit code, and for no other', () => {
    const told = [...sections(text, 2).keys()].flatMap(
      (heading) => /^Exit code (\d+)$/.exec(heading)?.[1] ?? [],
    )
    expect(told.map(Number).sort((a, b) => a - b)).toEqual(Object.values(EXIT).sort((a, b) => a - b))
  })

  it.each(Object.values(EXIT))(
    'tells of every error with exit code %i, by its name or its beginning',
    (wanted) => {
      const section = sections(text, 2).get(`Exit code ${wanted}`) ?? ''
      const told = [...section.matchAll(/`([a-z]+(?:-[a-z]+)*(?:-…)?)`/g)].map(([, code = '']) => code)
      const untold = Object.entries(ERROR_CODES).flatMap(([code, { exit }]) => {
        const named = told.some((one) =>
          one.endsWith('…') ? code.startsWith(one.slice(0, -1)) : one === code,
        )
        return exit !== wanted || named ? [] : [code]
      })
      expect(untold).toEqual([])
    },
  )

  it('is named where people look for it', () => {
    for (const path of ['README.md', 'docs/cli.md']) expect(page(path)).toContain('runbook.md')
  })
})
