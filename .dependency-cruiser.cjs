/**
 * The import directions of docs/architecture.md, checked by `npm run check`.
 * Stages (extract, transform, load, reconcile) never call each other: they share the words of src/model;
 * src/run connects them, src/main.ts builds the adapters. The packages beside src/ may import it; the edges of src/ import them.
 */
const only = (name, from, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from },
  to: { path: '^(src|packages)/', pathNot: [from, SHOWN, ...allowed] },
})

// Whoever shows what others have written needs it.
const SHOWN = '^src/system/shown-text\\.ts$'
const MODEL = '^src/model/'
// What is said of what people write, and of a word that is not known.
const MEANT = '^src/system/schema-problems\\.ts$'
const OWN_FILES = '^src/system/own-files\\.ts$'
// Whoever opens a file that is obeyed.
const OBEYED_FILES = '^src/system/obeyed-files\\.ts$'
// Reads what is shipped with the program.
const SHIPPED = '^src/system/shipped\\.ts$'

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-cycles-of-folders',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(src|packages)/[^/]+' },
      to: { circular: true },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: { path: '^(src|packages/[^/]+/src)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    only('model-stands-alone', MODEL, [], 'the words of the house import nothing of it'),
    only(
      'settings-stand-alone',
      '^src/system/settings.ts$',
      [MODEL, MEANT, OBEYED_FILES],
      'settings.ts reads the environment and no more',
    ),
    only(
      'yaml-file-stands-alone',
      '^src/system/(yaml-file|schema-problems).ts$',
      [MODEL, MEANT],
      'reading YAML knows of no schema',
    ),
    only('extract-alone', '^src/extract/', [MODEL, OWN_FILES, OBEYED_FILES], 'extract knows no other stage'),
    only(
      'transform-after-extract',
      '^src/transform/',
      [MODEL, MEANT, SHIPPED, '^src/system/yaml-file.ts$', '^src/gateway/contract/'],
      'transform is pure: rows in, records or issues out',
    ),
    {
      name: 'entries-are-imported-by-no-folder',
      severity: 'error',
      comment: 'src/ itself holds entries and the composition root',
      from: { path: '^(src|packages)/[^/]+/' },
      to: { path: '^src/[^/]+$' },
    },
    {
      name: 'packages-are-imported-at-the-edges',
      severity: 'error',
      comment: 'the core runs without them; the command line and the API for programs offer them',
      from: { path: '^src/', pathNot: ['^src/cli/', '^src/(index|open-waybill)\\.ts$'] },
      to: { path: '^packages/' },
    },
    {
      name: 'packages-import-no-package',
      severity: 'error',
      comment: 'each stands beside the core alone',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/', pathNot: '^packages/$1/' },
    },
    only(
      'watch-before-the-run',
      '^src/watch/',
      [
        MODEL,
        MEANT,
        '^src/system/yaml-file.ts$',
        '^src/extract/',
        '^src/transform/',
        '^src/definitions/(definition-files|job-definition).ts$',
        '^src/ledger/ledger.ts$',
      ],
      'it judges rows and exports as they are read; it finds none, and sends nothing',
    ),
    only(
      'mapping-tools-before-the-stages',
      '^packages/mapping-tools/',
      [
        MODEL,
        MEANT,
        OWN_FILES,
        SHIPPED,
        '^src/system/yaml-file.ts$',
        '^src/extract/',
        '^src/transform/',
        '^src/watch/',
        '^src/definitions/job-definition.ts$',
      ],
      'they read samples and map rows, and know how jobs are written; nothing is sent or kept',
    ),
    only(
      'load-after-transform',
      '^src/load/',
      [MODEL, '^src/gateway/', '^src/ledger/(ledger|packed-records).ts$'],
      'load sends records; it knows of no mapping and no file',
    ),
    only(
      'reconcile-after-load',
      '^src/reconcile/',
      [MODEL, '^src/gateway/'],
      'reconcile matches answers with what was sent; it calls no stage',
    ),
    only('ledger-alone', '^src/ledger/', [MODEL, OWN_FILES], 'the ledger knows tables and states, no stage'),
    only(
      'contract-alone',
      '^src/gateway/contract/',
      [],
      'the contract is what client and reference gateway share',
    ),
    only('gateway-alone', '^src/gateway/', [MODEL], 'the client can be used by another program'),
    only(
      'reference-gateway-alone',
      '^packages/reference-gateway/',
      [MODEL, '^src/system/yaml-file.ts$', '^src/gateway/contract/'],
      'it shares with the client nothing but the contract',
    ),
    only(
      'conformance-alone',
      '^packages/conformance/',
      [MODEL],
      'it knows HTTP and the interface document, not how client and reference gateway read it',
    ),
    only(
      'system-stands-alone',
      '^src/system/',
      [MODEL],
      'what files, processes, shell and terminal take knows nothing of batches',
    ),
    only('own-files-stand-alone', OWN_FILES, [MODEL], 'files are named and made alike wherever that is'),
    only(
      'shown-text-stands-alone',
      SHOWN,
      [],
      'text and pages are shown alike wherever that is, and know nothing of what they show',
    ),
    only(
      'story-after-the-run',
      '^src/story/',
      [
        MODEL,
        SHIPPED,
        '^src/(ledger|run|watch)/[^/]+$',
        '^src/notify/notice.ts$',
        '^src/telemetry/',
        '^src/system/(settings|text-table).ts$',
      ],
      'the story of a run is read from the ledger, and its faces are made from the story; it opens no export and asks no gateway',
    ),
    only(
      'expect-beside-the-run',
      '^src/expect/',
      [
        MODEL,
        '^src/extract/(sources/(source|receive-file)|arrival/verify-delivery).ts$',
        '^src/definitions/',
        '^src/run/(arrival|find-exports|found-delivery).ts$',
        '^src/ledger/ledger.ts$',
        '^src/notify/notice.ts$',
        '^src/schedule/(fires|schedule-parts).ts$',
      ],
      'it looks at sources and the ledger; it reads no export, and tells by notices alone',
    ),
    only(
      'notify-delivers',
      '^src/notify/',
      [
        MODEL,
        '^src/ledger/ledger.ts$',
        '^src/definitions/(heartbeat|notify)-definition.ts$',
        '^src/system/shell-command.ts$',
      ],
      'notifications are delivered as they are given; src/story/ words them',
    ),
    only(
      'schedule-is-handed-what-it-runs',
      '^src/schedule/',
      [MODEL, '^src/ledger/ledger.ts$'],
      'the schedule keeps the time and remembers; what runs a job is handed in',
    ),
    {
      name: 'sqlite-is-built-where-adapters-are',
      severity: 'error',
      comment: 'the ledger is its interfaces; who looks at the file itself keeps an installation well',
      from: {
        path: '^src/',
        pathNot: [
          '^src/ledger/(sqlite|postgres)/',
          '^src/application.ts$',
          '^src/operate/',
          '^src/runs/(copy-ledger|installation|ledger-address|look-over|restore|which-installation).ts$',
        ],
      },
      to: { path: '^src/ledger/(sqlite|postgres)/' },
    },
    {
      name: 'plans-are-made-in-runs',
      severity: 'error',
      comment: 'run/ carries a plan out, and knows of nobody who makes one',
      from: { path: '^src/run/' },
      to: { path: '^src/runs/' },
    },
    {
      name: 'commands-come-through-runs',
      severity: 'error',
      comment:
        'what runs, schedules, looks for exports or opens a ledger stands behind src/runs/; a command has words for it',
      from: { path: '^src/cli/' },
      to: {
        path: '^src/(expect|ledger|load|run|schedule)/',
        pathNot: [
          '^src/expect/expectation-text.ts$',
          '^src/ledger/(ledger|concerns|runs).ts$',
          '^src/load/batch-text.ts$',
          '^src/run/joined-exports.ts$',
          '^src/schedule/fires.ts$',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    only(
      'console-on-the-runs',
      '^src/console/',
      [
        MODEL,
        '^src/(runs|story|needs)/',
        '^src/system/(own-files|settings|text-table).ts$',
        '^src/run/(events|lease).ts$',
        '^src/operate/finding.ts$',
        '^src/schedule/fires.ts$',
        '^src/telemetry/logger.ts$',
      ],
      'its pages stand on runs, story and needs; it has no rules of its own, and knows no command line',
    ),
    only('telemetry-alone', '^src/telemetry/', [MODEL, OWN_FILES], 'telemetry is told; it asks nobody'),
    {
      name: 'only-edges-know-the-command-line',
      severity: 'error',
      from: { pathNot: ['^src/cli/', '^src/main\\.ts$'] },
      to: { path: ['^src/cli/', '^src/main\\.ts$'] },
    },
    {
      name: 'adapters-are-handed-in',
      severity: 'error',
      comment: 'SQLite and got are built in main.ts (through src/cli) and handed in',
      from: { path: '^src/(run|load|reconcile|transform|extract)/' },
      to: {
        path: ['^src/ledger/(sqlite|postgres)', '^src/gateway/transport\\.ts$', 'node_modules/got/'],
        dependencyTypesNot: ['type-only'],
      },
    },
  ],
  options: {
    // dependency-cruiser finds no file of TypeScript 7 by itself: every rule would pass.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
