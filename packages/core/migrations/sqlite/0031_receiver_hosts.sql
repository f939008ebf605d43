CREATE TABLE `receiver_hosts` (
	`host` text PRIMARY KEY NOT NULL,
	`failures` integer NOT NULL,
	`held_until` integer,
	`waits_until` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `receiver_hosts_waits` ON `receiver_hosts` (`waits_until`);--> statement-breakpoint
ALTER TABLE `webhooks` ADD `gate_host` text;--> statement-breakpoint
CREATE INDEX `webhooks_gate` ON `webhooks` (`gate_host`,`id`) WHERE gate_host is not null;