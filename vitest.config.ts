import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { CHECKED_CATALOG } from './build/bundle.ts'
import { LongFirst } from './test/long-first.ts'
import { memoryFolder } from './test/memory-folder.ts'
import { SkippedTests } from './test/skipped-tests.ts'

// Behind UTC, and not by whole hours: what goes by the zone of the machine gets another day, and another minute.
process.env['TZ'] = 'America/St_Johns'

// Workers, and processes that start sources, share what Node has compiled, with the launcher.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/waybill')

const memory = memoryFolder()
if (memory !== undefined) process.env['TMPDIR'] ??= memory

export default defineConfig({
  // As in the bundle: to parse and check the catalog takes a third of a command's time.
  plugins: [CHECKED_CATALOG],
  test: {
    globalSetup: 'test/postgres/one-server.ts',
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    // A golden file that is missing fails its test; `vitest run FILE -u` writes it.
    update: 'none',
    // Against hanging alone: a machine that has other things to do takes many times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', new SkippedTests()],
    // Five more than the machine has to have: many tests wait, for processes, sockets and time limits.
    maxWorkers: 7,
    // A fifth of the processor time was spent on collecting garbage: of a young generation that was too small, and of the whole heap, for the buffers
    // of each file that was read.
    execArgv: [
      '--min-semi-space-size=64',
      '--max-semi-space-size=64',
      '--initial-old-space-size=256',
      '--external-memory-accounted-in-global-limit',
      '--no-memory-reducer',
    ],
    // No test changes a module that another sees; a fresh worker a file would cost a sixth of the time.
    isolate: false,
    sequence: { sequencer: LongFirst },
  },
})
