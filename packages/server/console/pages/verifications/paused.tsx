import type { ComponentChildren } from 'preact'
import type { PausedCountry } from '../../../src/console-api/operator/answers.ts'
import { Icon, Time } from '../../parts/index.ts'
import { countryName, number } from '../../shell/format.ts'
import { rich, t } from '../../shell/text.ts'

/** A sentence about a country to which no codes are sent. */
function PauseText({ country, paused_at, ends_at, sent, approved }: PausedCountry) {
  return (
    <>
      {rich(
        'Codes to {country} are paused: {approved} of {sent} messages were approved, so bots may request them. The pause began {time}, and ends {time2} if approvals do not end it earlier.',
        {
          country: countryName(country),
          approved: number(approved),
          sent: number(sent),
          time: <Time at={paused_at} />,
          time2: <Time at={ends_at} exact />,
        },
      )}
    </>
  )
}

/** The countries to which a workspace sends no codes; nothing without one. `children`: what follows the sentence about each. */
export function PausedCountries({
  paused,
  children,
}: {
  paused: readonly PausedCountry[]
  children(one: PausedCountry): ComponentChildren
}) {
  const active = paused.filter(({ is_active }) => is_active)
  if (active.length === 0) return null
  return (
    <section class="card findings" aria-label={t('Paused countries')}>
      <ul>
        {active.map((one) => (
          <li key={one.country}>
            <Icon name="warning" />
            <div>
              <PauseText {...one} /> {children(one)}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
