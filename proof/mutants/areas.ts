/** A part of the code, and the tests beside it that must notice its mutants. */
export interface Area {
  name: string
  /** Folder of the mutated sources. */
  folder: string
  /** Patterns of its test files; the quickest first. */
  tests: readonly string[]
  /** Of these files, only the tests whose full name matches. */
  names?: string
}

const CORE = 'packages/core'
const SERVER = 'packages/server'

/** The parts of the storage contract that run the verbs, without long histories. */
const VERBS = [
  'accept|bulks|suppressed|recipients|a daily|quotas|idempotency|claim|messages that|deliveries|a clock|settle|calls',
  'an e-mail|cancel|reschedule|message counts|receipts|received|fan-out|the log|the gate|record|count|credits|holds|lots',
].join('|')

/** Where a wrong decision costs a message or a credit. */
export const AREAS: readonly Area[] = [
  {
    name: 'rules',
    folder: `${CORE}/src/rules`,
    tests: [`${CORE}/src/rules/**/*.test.ts`, `${CORE}/test/storage.sqlite.test.ts`],
    // The verbs of an engine apply the rules.
    names: `^(?!SQLite alone)(?!storage on)|^storage on \\w+ (${VERBS})`,
  },
  {
    name: 'dispatch',
    folder: `${CORE}/src/dispatch`,
    tests: [
      `${CORE}/src/dispatch/**/*.test.ts`,
      `${CORE}/test/dispatch/**/*.test.ts`,
      `${CORE}/test/{closing,dispatch-pause,expired,sweeper}.test.ts`,
    ],
  },
  {
    name: 'sqlite',
    folder: `${CORE}/src/storage/sqlite/verbs`,
    tests: [`${CORE}/test/storage.sqlite.test.ts`],
    names: `^storage on \\w+ (${VERBS})`,
  },
  {
    name: 'postgres',
    folder: `${CORE}/src/storage/postgres/verbs`,
    tests: [`${CORE}/test/storage.postgres.test.ts`],
    names: `^storage on \\w+ (${VERBS})`,
  },
  {
    name: 'admission',
    folder: `${SERVER}/src/admission`,
    tests: [
      `${SERVER}/src/admission/**/*.test.ts`,
      `${SERVER}/test/{rate-limit,turns,load,overload,loop-delay,credentials,ended-credentials}.test.ts`,
      `${SERVER}/test/{refused-sign-ins,counters-away,quotas}.test.ts`,
    ],
  },
]
