ALTER TABLE `operators` ADD `totp_secret` text;--> statement-breakpoint
ALTER TABLE `operators` ADD `totp_since` integer;--> statement-breakpoint
ALTER TABLE `operators` ADD `totp_step` integer;--> statement-breakpoint
ALTER TABLE `operators` ADD `recovery_hashes` text;