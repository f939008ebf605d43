import { randomBytes } from 'node:crypto'
import type { Operator } from '@svc/core/operate'
import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm, readPassword } from '../input/prompts.ts'
import { momentText } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import { listing } from '../show/listing.ts'
import { printable } from '../show/text.ts'

interface PasswordOptions {
  ask?: boolean
  passwordStdin?: boolean
}

interface AddOptions extends PasswordOptions {
  expires?: string
}

/** The length of a generated password, in random bytes. */
const PASSWORD_BYTES = 18

/** Adds `svc operators`: the people who operate the service in the console. */
export function addOperators(program: Command, context: Context): void {
  const operators = program
    .command('operators')
    .summary('manage who may operate the service in the console (operator)')
    .description(
      `Adds, lists and removes the people who operate the service in the console, below /console/operator. They are members of
no workspace. It works on the database; the server may run meanwhile.`,
    )
  withExamples(operators, 'svc operators add ops@example.com', 'svc operators list')

  const add = withPassword(
    operators
      .command('add')
      .summary('add an operator')
      .description(
        'Adds an operator. The password is generated and printed once, unless it is typed or piped in.',
      )
      .argument('<name>', 'an e-mail address or another name, for the sign-in')
      .option(
        '--expires <when>',
        'the end of the access: a duration such as 30d, or a date (default: none)',
      ),
  ).action((name: string, options: AddOptions) => addOperator(context, name, options))
  withExamples(
    add,
    'svc operators add ops@example.com',
    'svc operators add asha --ask --expires 30d',
  )

  const list = operators
    .command('list')
    .summary('list the operators')
    .description('Lists the operators with their last sign-in.')
    .action(() => listOperators(context))
  withExamples(list, 'svc operators list --json')

  const remove = operators
    .command('remove')
    .summary('remove an operator')
    .description('Removes an operator, after a confirmation. The sessions end at once.')
    .argument('<name>', 'the name of the operator')
    .option('--yes', 'do not ask')
    .action((name: string, options: { yes?: boolean }) => removeOperator(context, name, options))
  withExamples(remove, 'svc operators remove ops@example.com --yes')

  const reset = withPassword(
    operators
      .command('reset')
      .summary('set a new password')
      .description(
        'Sets a new password, which is generated and printed once unless it is typed or piped in. The sessions end at once.',
      )
      .argument('<name>', 'the name of the operator'),
  ).action((name: string, options: PasswordOptions) => resetOperator(context, name, options))
  withExamples(reset, 'svc operators reset ops@example.com')
}

function withPassword(command: Command): Command {
  return command
    .option('--ask', 'ask for the password on the terminal')
    .option('--password-stdin', 'read the password from the first line of stdin')
}

async function addOperator(
  { io, output }: Context,
  name: string,
  options: AddOptions,
): Promise<void> {
  const { dateTime, decode } = await import('@svc/core/contract')
  const { expires } = options
  const expires_at =
    expires === undefined ? null : decode(dateTime, momentText(expires, { now: new Date() }))
  const { password, isGenerated } = await passwordOf(io, options)
  const operator = await withCore(io, (core) =>
    core.operators.add({ name, password, expires_at }, operatorOf(io)),
  )
  const shown = isGenerated ? { password } : {}
  if (output.isJson()) return output.document({ operator, ...shown })
  output.line(`${printable(operator.name)} may operate the service, at /console/operator.`)
  if (isGenerated) output.line(`Password, shown only now: ${password}`)
}

async function listOperators({ io, output }: Context): Promise<void> {
  const operators = await withCore(io, (core) => core.operators.list())
  listing(output, {
    json: () => ({ operators }),
    headings: ['NAME', 'ADDED', 'LAST SIGN-IN', 'ENDS'],
    rows: operators.map(cellsOf),
    none: 'No operators: svc operators add <name> adds one.',
  })
}

function cellsOf({ name, created_at, last_sign_in_at, expires_at }: Operator): string[] {
  const text = (at: Date | null) => at?.toISOString() ?? ''
  return [name, text(created_at), text(last_sign_in_at), text(expires_at)]
}

async function removeOperator(
  { io, output }: Context,
  name: string,
  { yes }: { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Remove the operator ${printable(name)}?`)
  await withCore(io, (core) => core.operators.remove(name, operatorOf(io)))
  if (output.isJson()) return output.document({ name, message: 'Operator removed' })
  output.line(`${printable(name)} is no operator any more; the sessions ended.`)
}

async function resetOperator(
  { io, output }: Context,
  name: string,
  options: PasswordOptions,
): Promise<void> {
  const { password, isGenerated } = await passwordOf(io, options)
  const operator = await withCore(io, (core) =>
    core.operators.reset(name, password, operatorOf(io)),
  )
  if (output.isJson()) return output.document({ operator, ...(isGenerated && { password }) })
  output.line(`${printable(operator.name)} has a new password; the sessions ended.`)
  if (isGenerated) output.line(`Password, shown only now: ${password}`)
}

async function passwordOf(
  io: Context['io'],
  { ask = false, passwordStdin = false }: PasswordOptions,
): Promise<{ password: string; isGenerated: boolean }> {
  if (ask && passwordStdin) throw usage('choose one of --ask and --password-stdin')
  if (ask || passwordStdin) {
    return { password: await readPassword(io, { fromStdin: passwordStdin }), isGenerated: false }
  }
  return { password: randomBytes(PASSWORD_BYTES).toString('base64url'), isGenerated: true }
}
