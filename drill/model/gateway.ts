/** A gateway of one person and one series. It keeps whatever it is sent, and shows the latest visit alone, of that the record stored last. */
import type { Content } from '../../src/load/decide.ts'

export interface Stored {
  readonly visit: number
  readonly content: Content
}

/** Another installation's, or another person's: no record of ours has this content. */
export const FOREIGN: Content = 'foreign'

export class Gateway {
  private records: Stored[] = []
  isRegistered = false
  /** Another one after each erasure. */
  accountId = 1

  /** The record of a visit that was stored last. */
  last(visit: number): Content | undefined {
    return this.records.findLast((one) => one.visit === visit)?.content
  }

  store(visit: number, content: Content): void {
    this.records.push({ visit, content })
    this.isRegistered = true
  }

  /** All of a visit, oldest first. */
  of(visit: number): readonly Content[] {
    return this.records.flatMap((one) => (one.visit === visit ? [one.content] : []))
  }

  shown(): Stored | undefined {
    const latest = Math.max(...this.records.map(({ visit }) => visit))
    return this.records.findLast(({ visit }) => visit === latest)
  }

  /** Whether the profile shows anything that this installation may have sent. */
  showsOurs(): boolean {
    const shown = this.shown()
    return shown !== undefined && shown.content !== FOREIGN
  }

  /** Forgets all records of a person whom it still knows. @returns their visits */
  lose(): readonly number[] {
    const visits = this.records.map(({ visit }) => visit)
    this.records = []
    return visits
  }

  empty(): void {
    this.records = []
    this.isRegistered = false
    this.accountId++
  }
}
