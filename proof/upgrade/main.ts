// Runs the built service of an older commit and the present one beside each other on one PostgreSQL, under load:
//
//   npm run upgrade -- --from <commit> [--seconds 20] [--force]
//
// It takes the commit from git, builds it in a temporary folder, starts its server, migrates the database with the present
// program, starts a present server beside the older one, and stops the older one; each part takes --seconds. It fails when
// a promise is broken (proof/stage/rules.ts), on an unexpected answer, on an error in a log, and when a message that was
// accepted is missing. --force also migrates where older servers would have to be stopped.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { onStage } from '../stage/stage.ts'
import { buildOlder } from './older-build.ts'
import { upgrade } from './run.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    force: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const from = values.from
if (!from || !(seconds > 0))
  throw new Error('usage: npm run upgrade -- --from <commit> [--seconds 20]')
const progress = (text: string) => console.log(`${new Date().toISOString()} ${text}`)

const { accepted, migrations, violations } = await onStage(async (stage) => {
  progress(`builds ${from}`)
  const older = await buildOlder(from, join(stage.folder, 'older'))
  return upgrade(stage, { older, seconds, force: values.force, progress })
})
console.log(
  `\n${migrations.length} migrations; requests accepted: ${accepted.old} with the older server, ${accepted.both} with both, ${accepted.new} with the new one`,
)
const broken = violations.broken()
for (const { rule, times, examples } of broken) {
  console.log(`BROKEN ${times} times: ${rule}`)
  for (const example of examples) console.log(`  ${example}`)
}
if (broken.length === 0) console.log(`all ${violations.rules()} rules hold`)
process.exitCode = broken.length === 0 ? 0 : 1
