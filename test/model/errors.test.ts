import { describe, expect, it } from 'vitest'
import { ERROR_CODES, type ErrorCode, remedyOf, typedAgain, WaybillError } from '../../src/model/errors.ts'

const codes = Object.keys(ERROR_CODES) as ErrorCode[]

describe('a remedy that is to begin a run again', () => {
  it('names the command that does, in its place', () => {
    expect(remedyOf('interrupted')).toBe('Run the job again to continue.')
    expect(remedyOf('interrupted', 'waybill backfill x')).toBe('Type `waybill backfill x` again to continue.')
    expect(remedyOf('source-unreachable', 'waybill backfill x')).toMatch(
      /, then type `waybill backfill x` again\.$/,
    )
    expect(remedyOf('run-not-found', 'waybill backfill x')).toBe(remedyOf('run-not-found'))
    expect(remedyOf('of another version')).toBeUndefined()
  })

  it.each(codes)('leaves no place unfilled: %s', (code) => {
    for (const remedy of [remedyOf(code), remedyOf(code, 'waybill x'), new WaybillError(code, 'm').remedy])
      expect(remedy).not.toMatch(/[{}]/)
  })

  it('leaves a remedy of its own as it is', () => {
    const own = new WaybillError('interrupted', 'words', { remedy: 'Run the job again, later.' })
    expect(typedAgain(own, 'waybill x')).toBe(own)
    const common = typedAgain(new WaybillError('interrupted', 'words', { place: { file: 'f' } }), 'waybill x')
    expect(common).toMatchObject({ code: 'interrupted', message: 'words', place: { file: 'f' } })
    expect(common.remedy).toContain('`waybill x`')
  })
})
