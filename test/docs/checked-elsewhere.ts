/** Blocks that another test runs: page, language and perhaps the word after it, and the file that reads them. */
export const CHECKED_ELSEWHERE: { page: string; info: RegExp; by: string }[] = [
  {
    page: 'docs/guides/receive-webhooks.md',
    info: /^(?:js [\w-]+|python)$/,
    by: 'packages/testkit/test/guide.test.ts',
  },
  {
    page: 'docs/guides/embed-core.md',
    info: /^js (?:setup|(?:fastify|express)-app|mounted-\w+|next-\w+)$/,
    by: 'scripts/packages/project-folder.ts',
  },
  {
    page: 'docs/guides/from-twilio.md',
    info: /^(?:js twilio|xml reply)$/,
    by: 'packages/server/test/compat/twilio.guide.test.ts',
  },
  {
    page: 'docs/guides/from-resend.md',
    info: /^js resend$/,
    by: 'packages/server/test/compat/resend.guide.test.ts',
  },
  {
    page: 'docs/guides/smtp-inlet.md',
    info: /^(?:js nodemailer|python smtplib)$/,
    by: 'packages/server/test/compat/smtp-guide.test.ts',
  },
  {
    page: 'docs/guides/add-a-provider.md',
    info: /^js acme(?:-app|-test)?$/,
    by: 'packages/testkit/test/provider-guide.test.ts',
  },
  {
    page: 'docs/guides/generic-http-provider.md',
    info: /^json$/,
    by: 'packages/core/test/providers/http/settings.test.ts',
  },
  {
    page: 'docs/guides/kannel.md',
    info: /^json$/,
    by: 'packages/core/test/providers/http/settings.test.ts',
  },
  {
    page: 'docs/guides/console.md',
    info: /^js console-fastify$/,
    by: 'packages/server/test/console.test.ts',
  },
]

/** The file whose tests run a block, where there is one. */
export function runBy(page: string, info: string): string | undefined {
  return CHECKED_ELSEWHERE.find((one) => one.page === page && one.info.test(info))?.by
}
