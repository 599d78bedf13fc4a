/** How far something has come that takes its time and has no rate: a line in its place in a terminal, a line now and then elsewhere. */
import { shown } from '../shown-text.ts'
import type { ProgressDisplay } from './progress.ts'
import { CLEAR, DRAW_EVERY_MS, LINE_EVERY_MS } from './terminal-line.ts'

export interface Counting {
  /** @param text what is being done */
  at(text: string): void
  /** Takes the line away. */
  end(): void
}

export function createCounting({ columns, now, write }: ProgressDisplay): Counting {
  const every = columns === false ? LINE_EVERY_MS : DRAW_EVERY_MS
  let saidAt = now() - every
  let isShown = false
  return {
    at(text) {
      if (now() - saidAt < every) return
      saidAt = now()
      isShown = true
      const line = shown(text)
      write(columns === false ? `${line}\n` : `${CLEAR}${line.slice(0, columns() - 1)}`)
    },
    end() {
      if (isShown && columns !== false) write(CLEAR)
      isShown = false
    },
  }
}
