import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // One more than the machine has to have: tests of the command line wait for its processes.
    maxWorkers: 3,
    // No test changes a module that another sees; a fresh worker a file would cost a sixth of the time.
    isolate: false,
  },
})
