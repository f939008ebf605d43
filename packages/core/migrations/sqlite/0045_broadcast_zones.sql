ALTER TABLE `broadcasts` ADD `time_zone` text;--> statement-breakpoint
ALTER TABLE `broadcasts` ADD `departures` text;