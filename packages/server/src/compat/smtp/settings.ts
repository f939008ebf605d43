import type { Config } from '../../settings/config.ts'
import { ConfigError } from '../../settings/variables.ts'
import type { InletSettings } from './inlet.ts'

const SANDBOX_DOMAIN = 'sandbox.svc'

/**
 * The settings of the SMTP inlet; null if there is none.
 * @throws ConfigError for a certificate without its key, or a key without its certificate.
 */
export function inletSettings(
  config: Pick<
    Config,
    'smtp_listen' | 'smtp_tls_cert' | 'smtp_tls_key' | 'smtp_sms_domain' | 'providers'
  >,
): InletSettings | null {
  const { smtp_listen: addresses, smtp_tls_cert: cert, smtp_tls_key: key } = config
  if (Boolean(cert) !== Boolean(key)) {
    const [has, lacks] = cert ? ['CERT', 'KEY'] : ['KEY', 'CERT']
    throw new ConfigError(
      `SVC_SMTP_TLS_${lacks} must be set too: SVC_SMTP_TLS_${has} alone is half a set`,
    )
  }
  if (addresses.length === 0) return null
  const mail_domains = config.providers.flatMap(mailDomainOf)
  const sms_domain = config.smtp_sms_domain ?? `sms.${mail_domains[0] ?? SANDBOX_DOMAIN}`
  return {
    addresses,
    certificate: cert && key ? { cert, key } : null,
    mail_domains,
    sms_domain: sms_domain.toLowerCase(),
  }
}

function mailDomainOf(provider: Config['providers'][number]): string[] {
  return 'mail_domain' in provider && typeof provider.mail_domain === 'string'
    ? [provider.mail_domain.toLowerCase()]
    : []
}
