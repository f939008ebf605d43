import type { Config } from './config.ts'

/** The DNS servers for the records of sending domains; undefined: the servers of this machine. */
export function nameServersOf({
  domains_dns,
}: Pick<Config, 'domains_dns'>): readonly string[] | undefined {
  return domains_dns === null || domains_dns === 'system' ? undefined : domains_dns
}
