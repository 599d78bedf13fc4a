/** The page of results: figures with their goals, and where they were measured. */
import { cpus, totalmem } from 'node:os'
import type { Finding } from './scenarios.ts'

export function resultsPage(findings: readonly Finding[], of: { rows: number; turns: number }): string {
  const [cpu] = cpus()
  const day = new Date().toISOString().slice(0, 10)
  const lines = findings.map(
    ({ figure, goal, measured, detail }) => `| ${figure} | ${goal} | ${measured} | ${detail} |`,
  )
  return `# Results of the bench

Measured ${day} by \`npm run bench\` with ${of.rows.toLocaleString('en-US')} rows, medians of ${of.turns}: ${cpus().length} × ${cpu?.model.trim() ?? 'processor'}, \
${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${process.platform}. Processor time is that of all processes of a loader; the gateway has a process
of its own. Ratios hold within one run; seconds are those of this machine.

| figure | goal | measured | detail |
|---|---|---|---|
${lines.join('\n')}
`
}
