/** Questions of a job that expects exports by half past one each night, and what judgements of them leave. */
import { type ArrivedFile, type EarlierJudgement, judge } from '../../src/expect/judge.ts'
import { fileKey } from '../../src/run/find-exports.ts'

type Question = Parameters<typeof judge>[0]

export const at = (text: string): number => Date.parse(`2026-03-${text}Z`)
export const MONDAY = { previous: at('01T01:30'), due: at('02T01:30'), next: at('03T01:30') }
export const TUESDAY = { previous: at('02T01:30'), due: at('03T01:30'), next: at('04T01:30') }

export const file = (
  name: string,
  modified: string,
  more: { bytes?: number; taken?: string } = {},
): ArrivedFile => ({
  name,
  bytes: more.bytes ?? 1000,
  modifiedAt: at(modified),
  ...(more.taken === undefined ? {} : { takenAt: at(more.taken) }),
})

/** What a judgement leaves for the next one. */
export const left = (question: Question): EarlierJudgement => {
  const { state, known, arrived } = judge(question)
  return {
    due: question.deadline.due,
    judgedAt: question.now,
    known: new Set(known),
    missing: state === 'missing' ? question.expected.count - arrived.length : 0,
    wasShort: state !== 'arrived',
  }
}

export const ask = (fields: Partial<Question>): Question => ({
  expected: { count: 1, size: undefined },
  deadline: TUESDAY,
  now: TUESDAY.due,
  found: [],
  taken: [],
  earlier: [],
  ...fields,
})

export const seen = (...files: ArrivedFile[]): EarlierJudgement => ({
  due: MONDAY.due,
  judgedAt: MONDAY.due,
  known: new Set(files.map(fileKey)),
  missing: 0,
  wasShort: false,
})
export const NOBODY_LOOKED: EarlierJudgement = {
  due: MONDAY.due,
  judgedAt: MONDAY.due,
  known: undefined,
  missing: 0,
  wasShort: false,
}
