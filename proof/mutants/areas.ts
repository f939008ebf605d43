/** A part of the code, and the tests beside it that must notice its mutants. */
export interface Area {
  name: string
  /** Folder of the mutated sources. */
  folder: string
  /** Its files that are not mutated: no test loads them in its own process. */
  except?: readonly string[]
  /** Its test files and folders of such files; the quickest first, because a mutant that one notices needs no other. */
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

/** The parts of the storage contract that run the verbs of an engine, without tests that take long and notice little more. */
const ENGINE = [
  'accounts (gives an API|shows a key)|accept (?!accepts more)|bulks|suppressed|recipients|a daily|quotas|idempotency|claim|messages that|deliveries|a clock',
  'settle|calls|an e-mail|parts|cancel (?!cancels a bulk)|reschedule|receipts|files|fan-out|the log (?!of events shows)',
  'the gate of a host (?!counts a (301|400|403|500))|record|count|credits lets|message counts (?!are those)',
].join('|')

/** Where a wrong decision costs a message or a credit. */
export const AREAS: readonly Area[] = [
  {
    name: 'rules',
    folder: `${CORE}/src/rules`,
    tests: [`${CORE}/src/rules`, `${CORE}/test/storage.sqlite.test.ts`],
    // The verbs of an engine apply the rules.
    names: `^(?!SQLite alone)(?!storage on)|^storage on \\w+ (${VERBS})`,
  },
  {
    name: 'dispatch',
    folder: `${CORE}/src/dispatch`,
    // A worker thread loads its own code.
    except: ['worker.ts'],
    tests: [`${CORE}/src/dispatch`],
  },
  {
    name: 'sqlite',
    folder: `${CORE}/src/storage/sqlite/verbs`,
    tests: [
      `${CORE}/src/storage/sqlite/verbs`,
      `${CORE}/test/storage.sqlite.test.ts`,
      `${CORE}/test/telemetry.test.ts`,
    ],
    names: `^(?!SQLite alone|storage on|the telemetry of a core on postgres)|^storage on \\w+ (${ENGINE})`,
  },
  {
    name: 'postgres',
    folder: `${CORE}/src/storage/postgres/verbs`,
    tests: [
      `${CORE}/test/storage.postgres.test.ts`,
      `${CORE}/test/postgres/suppressed-look.test.ts`,
      `${CORE}/test/postgres/seen-accounts.test.ts`,
      `${CORE}/test/postgres/rate-counters.test.ts`,
      `${CORE}/test/postgres/clocks.test.ts`,
      `${CORE}/test/postgres/wake.test.ts`,
      `${CORE}/test/postgres/batches.test.ts`,
      `${CORE}/test/telemetry.test.ts`,
    ],
    names: `^(?!storage on|the telemetry of a core on sqlite|a server hears (of much|that it)|a batch of long|several servers on one database (never|give)|servers whose clocks are wrong (wait|send))|^storage on \\w+ (${ENGINE})`,
  },
  {
    name: 'admission',
    folder: `${SERVER}/src/admission`,
    tests: [
      `${SERVER}/test/turns.test.ts`,
      `${SERVER}/test/load.test.ts`,
      `${SERVER}/test/gate.test.ts`,
      `${SERVER}/test/body-budget.test.ts`,
      `${SERVER}/test/loop-delay.test.ts`,
      `${SERVER}/test/rate-limiter.test.ts`,
      `${SERVER}/test/admission.test.ts`,
      `${SERVER}/test/client-address.test.ts`,
      `${SERVER}/test/counters-away.test.ts`,
      `${SERVER}/test/credentials.test.ts`,
      `${SERVER}/test/ended-credentials.test.ts`,
      `${SERVER}/test/overload.test.ts`,
      `${SERVER}/test/access.test.ts`,
    ],
  },
]
