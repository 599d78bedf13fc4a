import type { DatabaseSync } from 'node:sqlite'
import { Progress } from './assessment-progress.ts'

/** What the store holds of a user's test. */
export interface StoredAssessment {
  readonly id: string
  readonly progress: Progress
  /** Epoch milliseconds at which a page was answered last. */
  readonly answeredMs: number
}

/** The table of tests that were begun: one row a user and test. */
export function createAssessmentStore(store: DatabaseSync, makeId: () => string) {
  const select = store.prepare(
    'SELECT id, progress, answered_ms FROM assessments WHERE account = ? AND assessment_id = ?',
  )
  const upsert = store.prepare(
    `INSERT INTO assessments (id, account, assessment_id, progress, answered_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account, assessment_id) DO UPDATE SET progress = excluded.progress, answered_ms = excluded.answered_ms`,
  )

  return {
    find(account: number, assessmentId: string): StoredAssessment | undefined {
      const row = select.get(account, assessmentId)
      if (row === undefined) return undefined
      return {
        id: String(row['id']),
        progress: Progress.parse(JSON.parse(String(row['progress']))),
        answeredMs: Number(row['answered_ms']),
      }
    },

    save(account: number, assessmentId: string, progress: Progress, answeredMs: number): void {
      upsert.run(makeId(), account, assessmentId, JSON.stringify(progress), answeredMs)
    },
  }
}

export type AssessmentStore = ReturnType<typeof createAssessmentStore>
